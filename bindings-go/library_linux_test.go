package trunkline

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
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

func TestALibraryThatWasCutShortIsFound(t *testing.T) {
	library := os.Getenv(libraryVariable)
	content, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkComplete(library); err != nil {
		t.Error(err)
	}
	program := filepath.Join(t.TempDir(), "library.so")
	for _, length := range []int{len(content) - 1, 1 << 20, 64} {
		if err := os.WriteFile(program, content[:length], 0o700); err != nil {
			t.Fatal(err)
		}
		// In a process of its own, which a bus error would end.
		run := exec.Command(os.Args[0], "-test.run=^TestAProgramNeedsGlibcAndLibgcc$")
		run.Env = []string{inImageVariable + "=1", libraryVariable + "=" + program}
		said, err := run.CombinedOutput()
		if wanted := fmt.Sprintf("is incomplete (%d of at least", length); err != nil || !strings.Contains(string(said), wanted) {
			t.Errorf("%d: %v: %s", length, err, said)
		}
	}
	for _, text := range []string{"", "no library", "\x7fELF"} {
		if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := checkComplete(program); err != nil {
			t.Error(err)
		}
	}
	if err := checkComplete(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Error(err)
	}
}

// inImageVariable is set where a test runs itself as a program in an image.
const inImageVariable = "TRUNKLINE_TEST_IN_IMAGE"

// The page about deployment names the images that a program runs in.
func TestAProgramNeedsGlibcAndLibgcc(t *testing.T) {
	server := NewServer("test", "1.0.0")
	err := server.ListChanged(CategoryTools)
	if os.Getenv(inImageVariable) != "" {
		fmt.Println("in the image:", err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close(context.Background())
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	// The system libraries, which are loaded by their names.
	loaded := regexp.MustCompile(`/\S+/lib[a-z_]+\.so\.[0-9]+\n`).FindAllString(string(maps), -1)
	slices.Sort(loaded)
	libraries := strings.Fields(strings.Join(slices.Compact(loaded), ""))
	isLibgcc := func(file string) bool { return strings.Contains(file, "libgcc_s") }
	if !slices.ContainsFunc(libraries, func(file string) bool { return strings.HasSuffix(file, "/libc.so.6") }) || !slices.ContainsFunc(libraries, isLibgcc) {
		t.Skip("the libraries of this system have other names:", libraries)
	}
	// distroless/base has no libgcc, distroless/static no glibc, either.
	base := slices.DeleteFunc(slices.Clone(libraries), isLibgcc)
	for name, image := range map[string]struct {
		libraries []string
		said      string
	}{
		"cc":     {libraries, "in the image: <nil>"},
		"base":   {base, "libgcc_s.so.1: cannot open shared object file"},
		"static": {nil, "no such file or directory"},
	} {
		root := t.TempDir()
		place := func(file, at string) {
			at = filepath.Join(root, at)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			// Never a hard link: writing to one would change the library of this system.
			content, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(at, content, 0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		place(program, "/program")
		place(os.Getenv(libraryVariable), "/trunkline.so")
		if linker := interpreter(t, program); image.libraries != nil {
			place(linker, linker)
		}
		for _, library := range image.libraries {
			place(library, library)
			// Other libraries of glibc are empty files of it.
			for _, part := range []string{"libdl.so.2", "libpthread.so.0"} {
				if other := filepath.Join(filepath.Dir(library), part); strings.HasSuffix(library, "/libc.so.6") {
					place(other, other)
				}
			}
		}
		run := exec.Command("/program", "-test.run=^TestAProgramNeedsGlibcAndLibgcc$")
		run.Env = []string{inImageVariable + "=1", libraryVariable + "=/trunkline.so"}
		run.Dir = "/"
		run.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
		if os.Getuid() != 0 {
			run.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		}
		said, err := run.CombinedOutput()
		if errors.Is(err, os.ErrPermission) {
			t.Skip("chroot is not allowed:", err)
		}
		if !strings.Contains(string(said)+fmt.Sprint(err), image.said) {
			t.Errorf("%s: %v: %s", name, err, said)
		}
	}
}

func interpreter(t *testing.T, program string) string {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	at := slices.IndexFunc(file.Progs, func(part *elf.Prog) bool { return part.Type == elf.PT_INTERP })
	path, err := io.ReadAll(file.Progs[at].Open())
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimRight(path, "\x00"))
}

// In a container whose files cannot be written, the reason is not that the fallback fails, too.
func TestTheReasonThatTheLibraryDoesNotLoadFromMemoryIsNamed(t *testing.T) {
	before := embedded
	t.Cleanup(func() { embedded = before })
	embedded = "no library"
	folder := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", folder)
	_, _, err := unpacked("libtrunkline.so")
	if err == nil {
		t.Fatal("it was loaded")
	}
	for _, part := range []string{"from memory: /proc/self/fd/", "; from a file: ", folder, "set TMPDIR"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
}
