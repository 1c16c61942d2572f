//go:build !trunkline_embed

package trunkline

// embedded is empty: the library is a file of its own.
var embedded []byte
