package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Maestro rarely runs as root. Root runs all other tests again as a user who has nothing.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the tests are already those of an ordinary user")
	}
	const user = 12345
	root := scratch(t)
	binary, err := os.ReadFile(os.Args[0])
	must(t, err)
	program, home := filepath.Join(root, "confine.test"), filepath.Join(root, "home")
	must(t, os.WriteFile(program, binary, 0o755))
	must(t, os.Mkdir(home, 0o755))
	must(t, os.Chown(home, user, user))
	cmd := exec.Command(program, "-test.v", "-test.short", "-test.skip=^TestAsOrdinaryUser$")
	cmd.Dir = home
	cmd.Env = []string{
		"HOME=" + home,
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin",
		"LANG=C.UTF-8",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	output, err := cmd.CombinedOutput()
	if text := string(output); err != nil || strings.Count(text, "--- PASS") < len(attempts)*3/4 {
		t.Errorf("%v\n%s", err, text)
	}
}
