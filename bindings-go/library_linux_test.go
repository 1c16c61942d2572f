package trunkline

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAStaticProgramIsFound(t *testing.T) {
	folder := t.TempDir()
	source, program := filepath.Join(folder, "main.go"), filepath.Join(folder, "program")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatal(err, string(said))
	}
	linker, err := filepath.Glob("/lib*/ld-linux*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(linker, "/proc/self/exe", "/no/such/program") {
		if isStatic(file) {
			t.Error(file)
		}
	}
	if !isStatic(program) {
		t.Error("a static program was not found")
	}
	if err := canLoad(); err != nil || strings.Contains(libraryAdvice(), "  ") {
		t.Error(err)
	}
}
