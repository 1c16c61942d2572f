package trunkline

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// The numbers of the system call memfd_create, which the package syscall does not have.
var memfdCreate = map[string]uintptr{"amd64": 319, "arm64": 279}

const closeOnExec = 1

// openInMemory loads the embedded library without a file on a disk: containers may have none that can
// be written.
func openInMemory(name string) (uintptr, error) {
	call, known := memfdCreate[runtime.GOARCH]
	label, err := syscall.BytePtrFromString(name)
	if !known || err != nil {
		return 0, errors.ErrUnsupported
	}
	descriptor, _, failed := syscall.Syscall(call, uintptr(unsafe.Pointer(label)), closeOnExec, 0)
	if failed != 0 {
		return 0, failed
	}
	inMemory = os.NewFile(descriptor, name)
	if _, err := inMemory.WriteString(embedded); err != nil {
		_ = inMemory.Close()
		return 0, err
	}
	return openLibrary(fmt.Sprintf("/proc/self/fd/%d", descriptor))
}

// inMemory stays open: glibc would take another library whose descriptor has its number for it.
var inMemory *os.File
