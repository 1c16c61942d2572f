package trunkline

import "errors"

// Callbacks take no floating-point numbers, such as those of progress.
func openLibrary(string) (uintptr, error) {
	return 0, errors.New("it needs callbacks that Go does not have on Windows yet")
}

func symbol(uintptr, string) uintptr { return 0 }

func threadID() uintptr { return 0 }
