package trunkline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// embedded is the library of the platform. A release has a file library_GOOS_GOARCH.go per platform,
// which sets it; in the repository it is empty, and the library is a file.
var embedded string

// libraryVariable is the environment variable with the path of the library.
const libraryVariable = "TRUNKLINE_LIBRARY"

// load loads the library: the file in TRUNKLINE_LIBRARY, the embedded one, one next to the program,
// or else the one that the system finds by its name.
func load() (handle uintptr, path string, err error) {
	if err := canLoad(); err != nil {
		return 0, "", err
	}
	path = os.Getenv(libraryVariable)
	if path == "" {
		name := "libtrunkline.so." + Version
		if runtime.GOOS == "darwin" {
			name = "libtrunkline." + Version + ".dylib"
		}
		if embedded != "" {
			return unpacked(name)
		}
		program, unknown := os.Executable()
		path = filepath.Join(filepath.Dir(program), name)
		if _, missing := os.Stat(path); unknown != nil || missing != nil {
			path = name
		}
	}
	if err = checkComplete(path); err == nil {
		handle, err = openLibrary(path)
	}
	return handle, path, err
}

// unpacked loads the embedded library from memory, or else from a file that only this user can change.
func unpacked(name string) (handle uintptr, path string, err error) {
	handle, reason := openInMemory(name)
	if reason == nil {
		return handle, name, nil
	}
	folder, err := os.MkdirTemp("", "trunkline-")
	if err == nil {
		// The loaded library needs its file no more.
		defer os.RemoveAll(folder)
		path = filepath.Join(folder, name)
		err = os.WriteFile(path, []byte(embedded), 0o700)
	}
	if err == nil {
		handle, err = openLibrary(path)
	}
	if err != nil {
		err = fmt.Errorf("%w (it is unpacked into the folder for temporary files, which must allow running files: set TMPDIR to another folder, or TRUNKLINE_LIBRARY to the file of the library)", err)
		if !errors.Is(reason, errors.ErrUnsupported) {
			err = fmt.Errorf("from memory: %w; from a file: %w", reason, err)
		}
	}
	return handle, path, err
}
