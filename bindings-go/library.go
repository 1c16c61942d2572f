package trunkline

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// embedded is the library of the platform. A release has a file library_GOOS_GOARCH.go per platform,
// which sets it; in the repository it is empty, and the library is a file.
var embedded string

// load loads the library: the file in TRUNKLINE_LIBRARY, the embedded one, one next to the program,
// or else the one that the system finds by its name.
func load() (handle uintptr, path string, err error) {
	if path := os.Getenv("TRUNKLINE_LIBRARY"); path != "" {
		handle, err = openLibrary(path)
		return handle, path, err
	}
	name := libraryName()
	if embedded != "" {
		return unpacked(name)
	}
	if program, err := os.Executable(); err == nil {
		if beside := filepath.Join(filepath.Dir(program), name); exists(beside) {
			name = beside
		}
	}
	handle, err = openLibrary(name)
	return handle, name, err
}

func libraryName() string {
	switch runtime.GOOS {
	case "windows":
		return "trunkline.dll"
	case "darwin":
		return "libtrunkline." + Version + ".dylib"
	default:
		return "libtrunkline.so." + Version
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// unpacked loads the embedded library from memory, or else from a file that only this user can change.
func unpacked(name string) (handle uintptr, path string, err error) {
	if handle, err := openInMemory(name); err == nil {
		return handle, name, nil
	}
	folder, err := os.MkdirTemp("", "trunkline-")
	if err == nil {
		// The loaded library needs its file no more, except on Windows, which refuses this.
		defer os.RemoveAll(folder)
		path = filepath.Join(folder, name)
		err = write(path, embedded)
	}
	if err == nil {
		handle, err = openLibrary(path)
	}
	if err != nil {
		err = fmt.Errorf("%w (it is unpacked into the folder for temporary files, which must allow running files: set TMPDIR to another folder, or TRUNKLINE_LIBRARY to the file of the library)", err)
	}
	return handle, path, err
}

func write(path, content string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
