package trunkline

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"unsafe"
)

// The numbers of the system call memfd_create, which the package syscall does not have.
var memfdCreate = map[string]uintptr{"amd64": 319, "arm64": 279}

const closeOnExec = 1

// canLoad refuses a statically linked program: glibc crashes when such a program loads a library.
func canLoad() error {
	if isStatic("/proc/self/exe") {
		return errors.New("the program is linked statically: link it dynamically, as Go does with CGO_ENABLED=0 or without the flag -static, and run it where glibc is installed")
	}
	return nil
}

// isStatic says whether a program has no dynamic linker. The file may also be the dynamic linker itself,
// which has none, either, when it was given the program as an argument.
func isStatic(path string) bool {
	program, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer program.Close()
	hasLinker := slices.ContainsFunc(program.Progs, func(part *elf.Prog) bool { return part.Type == elf.PT_INTERP })
	flags, _ := program.DynValue(elf.DT_FLAGS_1)
	isProgram := program.Type == elf.ET_EXEC || slices.ContainsFunc(flags, func(flags uint64) bool { return elf.DynFlag1(flags)&elf.DF_1_PIE != 0 })
	return isProgram && !hasLinker
}

// checkComplete refuses a file that was cut short, which the loader finds out by a bus error.
func checkComplete(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return nil // the loader says why, or finds it elsewhere
	}
	defer file.Close()
	var head elf.Header64
	info, unknown := file.Stat()
	if unknown != nil || binary.Read(file, binary.LittleEndian, &head) != nil || string(head.Ident[:elf.EI_DATA+1]) != elf.ELFMAG+"\x02\x01" {
		return nil
	}
	// The sections are the end of a file.
	if end := int64(head.Shoff) + int64(head.Shentsize)*int64(head.Shnum); info.Size() < end {
		return fmt.Errorf("%s is incomplete (%d of at least %d bytes)", path, info.Size(), end)
	}
	return nil
}

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
