package confine

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// machine is what a filter must know of the processor.
type machine struct {
	arch uint32
	// foreign is the lowest number of calls in another form; 0 if there is none.
	foreign uint32
}

// thisMachine returns the machine; false if this package has no filter for it.
func thisMachine() (machine, bool) {
	m, known := map[string]machine{
		"amd64": {arch: unix.AUDIT_ARCH_X86_64, foreign: 0x4000_0000}, // the calls of x32
		"arm64": {arch: unix.AUDIT_ARCH_AARCH64},
	}[runtime.GOARCH]
	return m, known
}

// refusedCalls are the calls that no agent needs and that other layers do not cover, or cover only in part.
func refusedCalls() []uint32 {
	return []uint32{
		// other mounts, and a way around them
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN,
		unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT,
		unix.SYS_SETNS,
		// the keys of the user that the kernel keeps
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
		// calls that a filter cannot see
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		// large parts of the kernel, in which mistakes are found often
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		// the machine itself; root's capabilities are gone, so these refuse twice
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
		unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL,
		unix.SYS_SYSLOG,
	}
}

const (
	// newNamespaces are the flags of clone and unshare that create a namespace. A user namespace would give the command
	// capabilities in it, and with them much more of the kernel.
	newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWNET |
		unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	// tiocsti types into a terminal, and tioclinux into a console: the user's shell would run it.
	tiocsti, tioclinux = 0x5412, 0x541c
	// newTime means something else to clone.
	newTime = unix.CLONE_NEWTIME
	// typeBits are those of socket's second argument that are a type, not flags.
	typeBits = 0xf
)

// refusal is what a filter lets a call return.
func refusal(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// filter is a program that the kernel runs for each call, written from its beginning to its end.
type filter []unix.SockFilter

func statement(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

const (
	load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	greater = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	anyBit  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	mask    = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	result  = unix.BPF_RET | unix.BPF_K
	// offsets of the parts of a call
	atNumber, atArch, atArguments = 0, 4, 16
)

// argument is the offset of the lower half of an argument. Both supported machines are little-endian.
func argument(n uint32) uint32 { return atArguments + 8*n }

// when adds a test of what is loaded, and what follows if it is true.
func (f *filter) when(code uint16, k uint32, then ...unix.SockFilter) {
	*f = append(*f, unix.SockFilter{Code: code, Jf: uint8(len(then)), K: k})
	*f = append(*f, then...)
}

// call adds tests of the arguments of one call. What none of them refuses is allowed.
func (f *filter) call(number uint32, tests filter) {
	tests = append(tests, statement(result, unix.SECCOMP_RET_ALLOW))
	f.when(equal, number, tests...)
}

// newFilter returns the filter for the layers.
func newFilter(m machine, layers []Layer) (f filter) {
	f = append(f, statement(load, atArch))
	f.when(equal, m.arch, statement(load, atNumber), unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: 1})
	f = append(f, statement(result, refusal(unix.ENOSYS))) // programs for another processor do not run
	if m.foreign != 0 {
		f.when(greater, m.foreign, statement(result, refusal(unix.ENOSYS)))
	}
	for _, number := range refusedCalls() {
		f.when(equal, number, statement(result, refusal(unix.EPERM)))
	}
	// Its flags are in memory, where a filter cannot look. Libraries use clone where it does not exist.
	f.when(equal, unix.SYS_CLONE3, statement(result, refusal(unix.ENOSYS)))
	f.call(unix.SYS_CLONE, bits(0, newNamespaces))
	f.call(unix.SYS_UNSHARE, bits(0, newNamespaces|newTime))
	var terminal filter
	terminal = append(terminal, statement(load, argument(1)))
	terminal.when(equal, tiocsti, statement(result, refusal(unix.EPERM)))
	terminal.when(equal, tioclinux, statement(result, refusal(unix.EPERM)))
	f.call(unix.SYS_IOCTL, terminal)
	ports := slices.Contains(layers, NetworkPorts)
	if ports || slices.Contains(layers, NetworkNone) {
		f.call(unix.SYS_SOCKET, sockets(ports))
	}
	if ports {
		// Data that is sent with the first packet connects without being asked for a port.
		fast := refusal(unix.EOPNOTSUPP)
		f.call(unix.SYS_SENDTO, bitsWith(3, unix.MSG_FASTOPEN, fast))
		f.call(unix.SYS_SENDMSG, bitsWith(2, unix.MSG_FASTOPEN, fast))
		f.call(unix.SYS_SENDMMSG, bitsWith(3, unix.MSG_FASTOPEN, fast))
	}
	return append(f, statement(result, unix.SECCOMP_RET_ALLOW))
}

// bits refuses a call if one of the bits of an argument is set.
func bits(n, set uint32) filter { return bitsWith(n, set, refusal(unix.EPERM)) }

func bitsWith(n, set, refused uint32) (f filter) {
	f = append(f, statement(load, argument(n)))
	f.when(anyBit, set, statement(result, refused))
	return f
}

// sockets refuses families that reach another machine around the network of the kernel's rules, such as the host of a
// virtual machine. Landlock knows TCP only, so where it restricts ports, other protocols with connections are refused.
func sockets(ports bool) (f filter) {
	allow := statement(result, unix.SECCOMP_RET_ALLOW)
	f = append(f, statement(load, argument(0)))
	f.when(equal, unix.AF_UNIX, allow)
	f.when(equal, unix.AF_NETLINK, allow)
	var inet filter
	if ports {
		inet = append(inet, statement(load, argument(1)), statement(mask, typeBits))
		inet.when(equal, unix.SOCK_SEQPACKET, statement(result, refusal(unix.EPROTONOSUPPORT)))
		inet = append(inet, statement(load, argument(2)))
		known := []uint32{0, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6}
		for _, protocol := range known {
			inet.when(equal, protocol, allow)
		}
		inet = append(inet, statement(result, refusal(unix.EPROTONOSUPPORT)))
	} else {
		inet = append(inet, allow)
	}
	f.when(equal, unix.AF_INET, inet...)
	f.when(equal, unix.AF_INET6, inet...)
	return append(f, statement(result, refusal(unix.EAFNOSUPPORT)))
}

// applyFilter applies the filter to this thread and the processes that it starts.
func applyFilter(layers []Layer) error {
	m, known := thisMachine()
	if !known {
		return fmt.Errorf("there is no filter for %s: %w", runtime.GOARCH, errors.ErrUnsupported)
	}
	f := newFilter(m, layers)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(f)
	if errno != 0 {
		return errno
	}
	return nil
}
