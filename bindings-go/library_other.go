//go:build !linux

package trunkline

import "errors"

func openInMemory(string) (uintptr, error) { return 0, errors.ErrUnsupported }

func canLoad() error { return nil }

func checkComplete(string) error { return nil }
