package home

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"maestro/internal/disk"
)

// plainFiles returns the content of the files of a home by name.
func plainFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				t.Fatal(err)
			}
			found[entry.Name()] = string(content)
		}
	}
	return found
}

// A file that cannot be read at the moment is left where it is, whatever the error, and is correct once the error has
// passed.
func TestUnreadableFileIsLeft(t *testing.T) {
	for _, why := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.ENOMEM, syscall.ESTALE, syscall.EACCES,
	} {
		t.Run(why.Error(), func(t *testing.T) {
			lock, _ := served(t)
			if err := errors.Join(lock.Uses().Save([]byte("{}")), lock.Beats().Keep([]string{"sess_a"})); err != nil {
				t.Fatal(err)
			}
			kept, before := lock.Keep(), plainFiles(t, lock.Dir())
			restore := disk.Inject(func(operation, _ string) error {
				if operation == "open" {
					return why
				}
				return nil
			})
			defer restore()
			for range 2 {
				for _, loss := range kept.Look() {
					if loss.Restored || !strings.Contains(loss.What, "cannot be read now") {
						t.Errorf("%+v", loss)
					}
				}
				if len(kept.Found()) == 0 {
					t.Error("the error was not reported")
				}
				if now := plainFiles(t, lock.Dir()); !maps.Equal(before, now) {
					t.Fatalf("the home holds %q, expected %q", now, before)
				}
			}
			restore()
			if news := kept.Look(); len(news) != 0 || len(kept.Found()) != 0 {
				t.Errorf("%+v, %+v", news, kept.Found())
			}
		})
	}
}

// A changed file keeps its name until its replacement is durable: whichever step fails, one of the two is in its place.
func TestFileIsReplacedBeforeItIsMoved(t *testing.T) {
	for step := 1; ; step++ {
		lock, _ := served(t)
		kept := lock.Keep()
		path := filepath.Join(lock.Dir(), serverKeyFile)
		own, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("other"), 0o600); err != nil {
			t.Fatal(err)
		}
		done := 0
		restore := disk.Inject(func(string, string) error {
			if done++; done == step {
				return syscall.ENOSPC
			}
			return nil
		})
		kept.Look()
		restore()
		content, err := os.ReadFile(path)
		if err != nil || string(content) != "other" && string(content) != string(own) {
			t.Errorf("step %d: %q, %v", step, content, err)
		}
		kept.Look()
		if content, err := os.ReadFile(path); err != nil || string(content) != string(own) {
			t.Errorf("step %d, afterwards: %q, %v", step, content, err)
		}
		if left, err := os.ReadFile(path + changedSuffix); err != nil || string(left) != "other" {
			t.Errorf("step %d: the old content is %q, %v", step, left, err)
		}
		if done < step {
			return
		}
	}
}

// If a home's key is missing, the error names the file beside it that contains the key.
func TestSetAsideKeyIsNamed(t *testing.T) {
	lock, _ := served(t)
	path := filepath.Join(lock.Dir(), serverKeyFile)
	if err := os.WriteFile(path+changedSuffix, []byte(strings.Repeat("ab", secretBytes)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+changedSuffix+"-2"); err != nil {
		t.Fatal(err)
	}
	_, started := lock.Secrets()
	for what, err := range map[string]error{"a start": started, "a salvage": lock.CheckKey()} {
		var missing *KeyError
		if !errors.As(err, &missing) || missing.Fits != path+changedSuffix+"-2" ||
			!strings.Contains(missing.Next(), "cp -p "+missing.Fits+" "+path) {
			t.Errorf("%s: %+v", what, err)
		}
	}
}
