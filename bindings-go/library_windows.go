package trunkline

import "syscall"

func openLibrary(path string) (uintptr, error) {
	handle, err := syscall.LoadLibrary(path)
	return uintptr(handle), err
}

var getCurrentThreadID = syscall.NewLazyDLL("kernel32.dll").NewProc("GetCurrentThreadId")

// threadID is the thread that runs the caller.
func threadID() uintptr {
	id, _, _ := getCurrentThreadID.Call()
	return id
}
