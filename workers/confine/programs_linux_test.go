package confine

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// programs are what a shell cannot do. Each of them returns nil if it could do it.
var programs = map[string]func(args []string) error{
	"victim":     victim,
	"supervisor": supervisor,
	"ptrace": func(args []string) error {
		pid, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		threads, err := os.ReadDir(filepath.Join("/proc", args[0], "task"))
		if err != nil {
			return err
		}
		for _, thread := range threads {
			tid, err := strconv.Atoi(thread.Name())
			if err == nil {
				err = unix.PtraceSeize(tid)
			}
			if err == nil {
				return nil
			}
		}
		return fmt.Errorf("no thread of %d can be traced", pid)
	},
	"open": func(args []string) error {
		file, err := os.Open(args[0])
		return errors.Join(err, file.Close())
	},
	"steal-fd": func(args []string) error { // pid, number
		pid, _ := strconv.Atoi(args[0])
		number, _ := strconv.Atoi(args[1])
		process, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		fd, err := unix.PidfdGetfd(process, number, 0)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	},
	"handle": func(args []string) error { // opens a file by its number, not its path
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, args[0], 0)
		if err != nil {
			return err
		}
		root, err := unix.Open(args[1], unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		_, err = unix.OpenByHandleAt(root, handle, unix.O_RDONLY)
		return err
	},
	"connect": func(args []string) error { // network, address
		conn, err := net.Dial(args[0], args[1])
		if err != nil {
			return err
		}
		return conn.Close()
	},
	"talk": func(args []string) error { // to a socket, until the other end closes it
		conn, err := net.Dial("unix", args[0])
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, conn)
		return errors.Join(err, conn.Close())
	},
	"connect-protocol": func(args []string) error { // port, protocol
		port, _ := strconv.Atoi(args[0])
		protocol, _ := strconv.Atoi(args[1])
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, protocol)
		if err != nil {
			return err
		}
		return unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	},
	"connect-fast": func(args []string) error { // port
		port, _ := strconv.Atoi(args[0])
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		to := &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
		return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, to)
	},
	"loopback": func([]string) error {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			return err
		}
		return errors.Join(conn.Close(), listener.Close())
	},
	"vsock": func([]string) error {
		fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	},
	"keyring": func([]string) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
		return err
	},
	"type": func([]string) error { // into the terminal that is the standard input
		c := byte('x')
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, 0, tiocsti, uintptr(unsafe.Pointer(&c)))
		if errno != 0 {
			return errno
		}
		return nil
	},
	"unshare": func([]string) error {
		cmd := exec.Command("/proc/self/exe", "program", "nothing")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return cmd.Run()
	},
	"await": func([]string) error { // exits with the number of the signal that it gets
		signals := make(chan os.Signal, 1)
		signal.Notify(signals)
		fmt.Println("ready")
		for s := range signals {
			if s != unix.SIGURG { // the runtime sends it to itself
				os.Exit(int(s.(syscall.Signal)))
			}
		}
		return nil
	},
	"nothing": func([]string) error { return nil },
	"io_uring": func([]string) error {
		var params [120]byte
		_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
		if errno != 0 {
			return errno
		}
		return nil
	},
	"mount": func(args []string) error { return unix.Mount("none", args[0], "tmpfs", 0, "") },
	"euid": func(args []string) error {
		if got := strconv.Itoa(os.Geteuid()); got != args[0] {
			return fmt.Errorf("the user is %s", got)
		}
		return nil
	},
	"files": func([]string) error { // succeeds if a file was inherited
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return err
		}
		for _, entry := range entries {
			target, err := os.Readlink("/proc/self/fd/" + entry.Name())
			if fd, _ := strconv.Atoi(entry.Name()); err != nil || fd < 3 || strings.HasPrefix(target, "anon_inode:") ||
				strings.HasPrefix(target, "/proc/") || strings.Contains(target, "/sys/fs/cgroup/") {
				continue // the runtime's own
			}
			return nil
		}
		return errors.New("no file was inherited")
	},
}

// program runs one of the programs, and returns its exit code.
func program(name string, args []string) int {
	err := programs[name](args)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		return 1
	}
	return 0
}

// victim holds what attempts are after, until its standard input ends: a secret in its environment and in an open file,
// and sockets.
func victim(args []string) error { // the file, the path of a socket, the name of another
	secret, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer secret.Close()
	for _, name := range args[1:] {
		listener, err := net.Listen("unix", name)
		if err != nil {
			return err
		}
		defer listener.Close()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				conn.Close()
			}
		}()
	}
	fmt.Println(secret.Fd())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
