package sandbox

import (
	"slices"
	"strings"
)

// prefix judges commands that take options, some operands, and then a command.
func (c *call) prefix() bool {
	var t takes
	skip := 0
	switch c.name {
	case "nohup", "setsid", "fakeroot", "unbuffer", "catchsegv", "dumb-init", "tini", "chronic", "ccache", "sccache",
		"distcc",
		"torsocks", "torify", "proxychains", "proxychains4", "rlwrap", "winpty", "caffeinate", "cpulimit", "ts",
		"systemd-cat", "linux32", "linux64", "setarch", "i386", "x86_64", "eatmydata", "firejail", "capsh",
		"dbus-launch":
		t = takes{short: "rlpf", long: "limit pid exe"}
		if c.name != "cpulimit" {
			t = takes{}
		}
	case "nice":
		t = takes{short: "n", long: "adjustment"}
	case "ionice":
		t = takes{short: "cnpPu", long: "class classdata pid pgid uid"}
	case "chrt":
		t, skip = takes{short: "TPD", long: "sched-runtime sched-period sched-deadline"}, 1
	case "taskset", "numactl", "prlimit", "faketime", "chpst", "softlimit", "setuidgid", "envdir", "gosu", "su-exec",
		"setlock",
		"envuidgid", "with-contenv":
		t = takes{short: "CNmpuUncaosfdretlb/", long: "cpunodebind membind physcpubind interleave preferred pid output"}
		if c.name == "taskset" {
			t = takes{}
		}
		if c.name != "numactl" && c.name != "prlimit" && c.name != "chpst" && c.name != "softlimit" {
			skip = 1
		}
	case "stdbuf":
		t = takes{short: "ioe", long: "input output error"}
	case "timeout", "gtimeout":
		t, skip = takes{short: "ks", long: "kill-after signal"}, 1
	case "chroot":
		t, skip = takes{long: "userspec groups"}, 1
	case "unshare", "nsenter":
		t = takes{
			short: "tSGRw+m+",
			long:  "target setuid setgid root map-user map-group propagation setgroups load-interp",
		}
	case "setpriv":
		t = takes{long: "reuid regid groups inh-caps ambient-caps bounding-set securebits selinux-label pdeathsig"}
	case "pkexec":
		t = takes{long: "user"}
	case "systemd-run":
		t = takes{
			short: "upEdHM",
			long: "unit property description slice uid gid nice working-directory setenv host machine " +
				"on-active on-boot on-calendar service-type path-property",
		}
	case "systemd-inhibit":
		t = takes{long: "what who why mode"}
	case "xvfb-run":
		t = takes{short: "enspfw", long: "error-file server-num server-args auth-file"}
	case "valgrind", "heaptrack", "dbus-run-session", "rr":
	case "direnv", "aws-vault", "dotenv", "op", "doppler", "chamber":
		return c.afterWord()
	case "poetry", "pipenv", "uv", "hatch", "pdm", "bundle", "rbenv", "pyenv", "nodenv", "asdf", "mise", "conda",
		"mamba",
		"npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "rye", "volta", "opam", "cabal", "stack":
		return c.project()
	default:
		return false
	}
	args := c.args
	if c.name == "nice" && len(args) > 0 && len(args[0]) > 1 && strings.Trim(args[0], "-0123456789") == "" {
		args = args[1:]
	}
	p := parse(args, t, true)
	operands := p.operands
	if c.name == "capsh" {
		for i, arg := range c.args {
			if arg == "-c" && i+1 < len(c.args) {
				c.text(c.args[i+1])
			}
		}
		return true
	}
	if dir, ok := p.last("working-directory"); ok {
		c.e = c.e.clone()
		c.e.dirs = c.e.absolutes(dir)
	}
	if p.has("p", "pid") && (c.name == "ionice" || c.name == "chrt" || c.name == "taskset" || c.name == "prlimit") {
		return true
	}
	if len(operands) > skip {
		operands = operands[skip:]
		if operands[0] == "--" {
			operands = operands[1:]
		}
		for len(operands) > 0 && c.name != "busybox" && isAssignment(operands[0]) && c.name == "dotenv" {
			operands = operands[1:]
		}
		c.exec(operands)
	}
	return true
}

// afterWord judges the command behind -- or behind exec.
func (c *call) afterWord() bool {
	i := slices.Index(c.args, "--")
	if i < 0 {
		if i = slices.Index(c.args, "exec"); i >= 0 && c.name == "direnv" {
			i++
		}
	}
	if i >= 0 && i+1 < len(c.args) {
		c.exec(c.args[i+1:])
	}
	return true
}

// project judges tools of a project that run a command in its environment.
func (c *call) project() bool {
	t := takes{
		short: "pwC",
		long:  "package call prefix workspace filter directory dir cwd project python extra with group env",
	}
	p := parse(c.args, t, true)
	e := c.e.clone()
	if dir, ok := p.last("C", "prefix", "directory", "dir", "cwd", "project"); ok {
		e.dirs = c.e.absolutes(dir)
		if c.name == "npm" || c.name == "pnpm" || c.name == "yarn" {
			c.all([]string{dir}, writes)
		}
	}
	inner := &call{
		j:    c.j,
		e:    e,
		name: c.name,
		in:   c.in,
	}
	switch c.name {
	case "npx", "bunx", "pnpx":
		for i, arg := range c.args {
			if (arg == "-c" || arg == "--call") && i+1 < len(c.args) {
				c.text(c.args[i+1])
				return true
			}
		}
		inner.exec(p.operands)
		return true
	}
	if len(p.operands) == 0 {
		return true
	}
	switch verb := p.operands[0]; verb {
	case "exec", "run", "dlx", "x", "run-script", "r":
		if (verb == "run" || verb == "run-script" || verb == "r") && slices.Contains([]string{
			"npm", "pnpm", "yarn",
			"bun",
		}, c.name) {
			return true // a script of the project, by its name
		}
		rest := parse(p.operands[1:], takes{
			short: "cnpw",
			long:  "call name prefix package workspace python with extra",
		}, true)
		for _, text := range rest.all("c", "call") {
			c.text(text)
		}
		if words := rest.operands; len(words) > 0 {
			inner.exec(words)
		}
	default:
		// installation into a named directory
		rest := parse(p.operands[1:], takes{long: "prefix target path cache modules-folder global-dir"}, false)
		c.all(rest.all("prefix", "target", "modules-folder"), writes)
	}
	return true
}
