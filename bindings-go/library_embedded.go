//go:build trunkline_embed

package trunkline

import _ "embed"

// embedded is the library of the platform, which is put next to this file before the program is
// built with the tag trunkline_embed.
//
//go:embed libtrunkline.bin
var embedded []byte
