//go:build !windows

package trunkline

import (
	"runtime"
	"sync"

	"github.com/ebitengine/purego"
)

func openLibrary(path string) (uintptr, error) {
	// The reason of a failure is that of the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// symbol is the address of a function of the library.
func symbol(library uintptr, name string) uintptr {
	address, err := purego.Dlsym(library, name)
	if err != nil {
		panic(err)
	}
	return address
}

var pthreadSelf = sync.OnceValue(func() (function func() uintptr) {
	purego.RegisterLibFunc(&function, purego.RTLD_DEFAULT, "pthread_self")
	return function
})

// threadID is the thread that runs the caller.
func threadID() uintptr { return pthreadSelf()() }
