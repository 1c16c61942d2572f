//go:build !windows

package trunkline

import (
	"sync"

	"github.com/ebitengine/purego"
)

func openLibrary(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

var pthreadSelf = sync.OnceValue(func() (function func() uintptr) {
	purego.RegisterLibFunc(&function, purego.RTLD_DEFAULT, "pthread_self")
	return function
})

// threadID is the thread that runs the caller.
func threadID() uintptr { return pthreadSelf()() }
