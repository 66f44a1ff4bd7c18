package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// attempt is something that a confined command must not be able to do. Its exit code is 0 if it did it.
type attempt struct {
	name string
	argv []string
	// mounts says that only the mount namespace refuses it: Landlock alone does not.
	mounts bool
	// landlock says that only Landlock refuses it: the other layers do not.
	landlock bool
	// root says that only root can do it unconfined.
	root bool
	// prepare is called before the command starts.
	prepare func(t *testing.T, w *world, cmd *exec.Cmd)
	// needs is a program without which the attempt cannot be made.
	needs string
}

func shell(line string) []string { return []string{"bash", "-c", line} }

func helper(name string, args ...string) []string {
	return append([]string{"{self}", "program", name}, args...)
}

var attempts = []attempt{
	// reads
	{name: "read a key", argv: shell("cat {home}/.ssh/id")},
	{name: "read a login of another program", argv: shell("cat {home}/.config/gh/hosts")},
	{name: "read the server's token", argv: shell("cat {home}/maestro/token")},
	{name: "read another workspace", argv: shell("cat {home}/workspace/other/secret")},
	{name: "list hidden names", argv: shell("ls {home}/.ssh | grep id")},
	{name: "read through a new link", argv: shell("ln -s {home}/.ssh/id link && cat link")},
	{name: "read through a link of a directory", argv: shell("ln -s {home} all && cat all/.ssh/id")},
	{
		name: "read through a link that was there", argv: shell("cat {target}/planted/id"),
		prepare: func(t *testing.T, w *world, _ *exec.Cmd) {
			must(t, os.Symlink(filepath.Join(w.home, ".ssh"), filepath.Join(w.target, "planted")))
		},
	},
	{
		name: "read through a link of the user", argv: shell("cat {home}/keys/id"),
		prepare: func(t *testing.T, w *world, _ *exec.Cmd) {
			must(t, os.Symlink(".ssh", filepath.Join(w.home, "keys")))
		},
	},
	{
		name: "read through a link to a hidden file", argv: shell("cat {home}/.pgpass"),
		prepare: func(t *testing.T, w *world, _ *exec.Cmd) {
			path := filepath.Join(w.home, "pgpass")
			must(t, os.WriteFile(path, []byte(secretText), 0o600))
			must(t, os.Symlink("pgpass", filepath.Join(w.home, ".pgpass")))
		},
	},
	{name: "read through dots", argv: shell("cat {target}/../.ssh/id")},
	{name: "read through a hard link", argv: shell("ln {home}/.ssh/id stolen && cat stolen")},
	{name: "move a key", argv: shell("mv {home}/.ssh/id stolen && cat stolen")},
	{name: "move a directory", argv: shell("mv {home}/.ssh stolen && cat stolen/id")},
	{name: "read through /proc/self/root", argv: shell("cat /proc/self/root{home}/.ssh/id")},
	{name: "read through the root of another process", argv: shell("cat /proc/{pid}/root{home}/.ssh/id")},
	{name: "read through the root of agent-exec", argv: shell("cat /proc/$PPID/root{home}/.ssh/id")},
	{name: "read an open file of another process", argv: shell("cat /proc/{pid}/fd/{number}")},
	{name: "take an open file of another process", argv: helper("steal-fd", "{pid}", "{number}")},
	{name: "read the memory of another process", argv: helper("open", "/proc/{pid}/mem")},
	{name: "read the memory of agent-exec", argv: shell("exec 3</proc/$PPID/mem")},
	{name: "read the environment of another process", argv: shell("grep -az TOKEN= /proc/{pid}/environ")},
	{name: "read the environment of agent-exec", argv: shell("grep -az . /proc/$PPID/environ")},
	{name: "read a file by its number", argv: helper("handle", "{home}/.ssh/id", "{target}"), root: true},
	{name: "read passwords", argv: shell("cat /etc/shadow"), root: true},
	{name: "read the log of the kernel", argv: shell("head -n1 /dev/kmsg"), root: true},
	{
		name: "read an inherited file", argv: helper("files"),
		prepare: func(t *testing.T, w *world, _ *exec.Cmd) {
			file, err := os.Open(filepath.Join(w.home, ".ssh/id"))
			must(t, err)
			fd, err := syscall.Dup(int(file.Fd())) // without close-on-exec
			must(t, err)
			t.Cleanup(func() { must(t, syscall.Close(fd)); must(t, file.Close()) })
		},
	},
	// writes
	{name: "append to .bashrc", argv: shell("echo x >> {home}/.bashrc")},
	{name: "replace .profile", argv: shell("echo x > new && mv new {home}/.profile && test ! -e new")},
	{name: "truncate", argv: shell("truncate -s 0 {home}/.bashrc && test ! -s {home}/.bashrc")},
	{name: "truncate while opening", argv: shell(": > {home}/.bashrc")},
	{name: "delete", argv: shell("rm {home}/.profile")},
	{name: "rename outside", argv: shell("mv {outside}/notes {outside}/other")},
	{name: "create outside", argv: shell("echo x > {outside}/new")},
	{name: "create a directory outside", argv: shell("mkdir {outside}/new")},
	{name: "create a link outside", argv: shell("ln -s /etc {outside}/new")},
	{name: "create a pipe outside", argv: shell("mkfifo {outside}/new")},
	{name: "write through a link", argv: shell("ln -s {home}/.bashrc rc && echo x >> rc")},
	{name: "write through a hard link", argv: shell("ln {home}/.bashrc rc && echo x >> rc")},
	{name: "write through /proc/self/root", argv: shell("echo x >> /proc/self/root{home}/.bashrc")},
	{name: "add a hook to another repository", argv: shell("echo x > {home}/repository/.git/hooks/pre-commit")},
	{name: "change a hook of another repository", argv: shell("echo x > {home}/repository/.git/hooks/x")},
	{name: "write another workspace", argv: shell("echo x > {home}/workspace/other/secret")},
	{name: "create beside the workspace", argv: shell("echo x > {home}/workspace/new")},
	{name: "start at login", argv: shell("mkdir -p {home}/.config/autostart && echo x > {home}/.config/autostart/x")},
	{name: "write below /etc", argv: shell("echo '#' > /etc/confine-test && rm /etc/confine-test"), root: true},
	{
		name: "add a cron table", root: true,
		argv: shell("mkdir -p /etc/cron.d && echo '#' > /etc/cron.d/confine-test && rm /etc/cron.d/confine-test"),
	},
	{
		name: "change a setting of the kernel", root: true,
		argv: shell("f=/proc/sys/kernel/panic; v=$(cat $f) && echo $v > $f"),
	},
	{name: "change rights", argv: shell("chmod 777 {outside}/notes"), mounts: true},
	{name: "change the owner", argv: shell("chown $(id -u) {outside}/notes"), mounts: true},
	{name: "change the time", argv: shell("touch -d 2001-01-01 {outside}/notes"), mounts: true},
	{name: "change what must not change", argv: shell("echo x > {workspace}/.state/rules"), mounts: true},
	{
		name: "replace what must not change", mounts: true,
		argv: shell("cd {workspace}/.state && echo x > new && mv new rules"),
	},
	{name: "delete what must not change", argv: shell("rm {workspace}/.state/rules"), mounts: true},
	{
		name: "replace the directory of what must not change", mounts: true,
		argv: shell("cd {workspace} && mv .state old && mkdir .state && echo x > .state/rules"),
	},
	// processes
	{name: "kill another process", argv: shell("kill -9 {pid}")},
	{name: "signal agent-exec", argv: shell("kill -0 $PPID"), landlock: true},
	{name: "trace another process", argv: helper("ptrace", "{pid}")},
	{name: "trace agent-exec", argv: shell("{self} program ptrace $PPID")},
	{
		name: "become another user through a setuid program",
		root: true,
		argv: []string{"{outside}/setuid", "program", "euid", "12345"},
		prepare: func(t *testing.T, w *world, _ *exec.Cmd) {
			binary, err := os.ReadFile(os.Args[0])
			must(t, err)
			path := filepath.Join(w.outside, "setuid")
			must(t, os.WriteFile(path, binary, 0o755))
			must(t, os.Chown(path, 12345, 12345))
			must(t, os.Chmod(path, os.ModeSetuid|0o755))
		},
	},
	// sockets and keys
	{name: "connect to a socket", argv: helper("connect", "unix", "{socket}"), mounts: true},
	{name: "connect to an abstract socket", argv: helper("connect", "unix", "{abstract}"), landlock: true},
	{
		name:    "open a window in tmux",
		needs:   "tmux",
		mounts:  true,
		argv:    shell("tmux -S {outside}/tmux new-window -d true"),
		prepare: startTmux,
	},
	{name: "read the user's keys in the kernel", argv: helper("keyring")},
	{
		name:    "type into the terminal",
		argv:    helper("type"),
		prepare: giveTerminal,
		root:    true,
	},
	{
		name: "write to another terminal", argv: shell("echo x > $OTHER"),
		prepare: func(t *testing.T, _ *world, cmd *exec.Cmd) {
			_, other := openTerminal(t)
			cmd.Env = append(cmd.Env, "OTHER="+other.Name())
		},
	},
	{
		name:   "read shared memory of the user",
		argv:   shell("cat /dev/shm/$SHM"),
		mounts: true,
		prepare: func(t *testing.T, _ *world, cmd *exec.Cmd) {
			file, err := os.CreateTemp("/dev/shm", "confine")
			must(t, err)
			t.Cleanup(func() { must(t, os.Remove(file.Name())) })
			must(t, file.Close())
			cmd.Env = append(cmd.Env, "SHM="+filepath.Base(file.Name()))
		},
	},
	// other views of the machine
	{
		name: "mount",
		argv: helper("mount", "{outside}"),
		root: true,
		prepare: func(t *testing.T, w *world, _ *exec.Cmd) {
			t.Cleanup(func() { _ = unix.Unmount(w.outside, unix.MNT_DETACH) }) // only the unconfined attempt mounts
		},
	},
	{name: "create a user namespace", argv: helper("unshare")},
	{name: "mount in a user namespace", needs: "unshare", argv: shell("unshare -Urm mount -t tmpfs none {target}")},
	{name: "use io_uring", argv: helper("io_uring")},
}

func TestAttempts(t *testing.T) {
	all := everything(t, Policy{})
	for _, a := range attempts {
		t.Run(a.name, func(t *testing.T) {
			if a.root && os.Getuid() != 0 {
				t.Skip("only root can do this unconfined; the tests of root confine it")
			}
			if _, err := exec.LookPath(a.needs); a.needs != "" && err != nil {
				t.Skipf("%s is not installed", a.needs)
			}
			if code, output := a.run(t, all); code == 0 {
				t.Errorf("all layers allow it\n%s", output)
			}
			// On a machine that forbids user namespaces.
			if code, output := a.run(t, without(all, Namespaces)); (code == 0) != a.mounts {
				t.Errorf("without namespaces, the exit code is %d\n%s", code, output)
			}
			// On a kernel without Landlock.
			if code, output := a.run(t, without(all, landlock(landlockVersion(all)))); (code == 0) != a.landlock {
				t.Errorf("without Landlock, the exit code is %d\n%s", code, output)
			}
			// The attempt is real: whoever is not confined can do it.
			if code, output := a.run(t, nil); code != 0 {
				t.Errorf("unconfined, it fails with exit code %d: the attempt shows nothing\n%s", code, output)
			}
		})
	}
}

// run makes the attempt in a new world.
func (a attempt) run(t *testing.T, layers []Layer) (code int, output string) {
	t.Helper()
	w := newWorld(t)
	cmd, text := w.command(a.argv...)
	if a.prepare != nil {
		a.prepare(t, w, cmd)
	}
	code = w.run(layers, cmd)
	return code, text.String()
}

func startTmux(t *testing.T, w *world, _ *exec.Cmd) {
	socket := filepath.Join(w.outside, "tmux")
	start := exec.Command("tmux", "-S", socket, "-f", "/dev/null", "new-session", "-d", "cat")
	start.Env = append(os.Environ(), "TERM=xterm", "HOME="+w.home)
	if output, err := start.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	t.Cleanup(func() { must(t, exec.Command("tmux", "-S", socket, "kill-server").Run()) })
}

// giveTerminal makes a terminal the standard input and the controlling terminal.
func giveTerminal(t *testing.T, _ *world, cmd *exec.Cmd) {
	_, terminal := openTerminal(t)
	cmd.Stdin = terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
}
