package sandbox

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrapped judges commands that run the command they are given.
func (c *call) wrapped() bool {
	switch c.name {
	case "env":
		c.env()
	case "sudo", "doas":
		c.sudo()
	case "sudoedit":
		c.all(parse(c.args, takes{short: "ugCcDhpRrTtUa"}, false).operands, writes)
	case "su", "runuser":
		c.su()
	case "watch":
		p := parse(c.args, takes{short: "nq", long: "interval differences+ equexit shotsdir"}, true)
		if p.has("x", "exec") {
			c.exec(p.operands)
		} else if len(p.operands) > 0 {
			c.text(strings.Join(p.operands, " "))
		}
	case "script":
		c.typescript()
	case "flock":
		c.flock()
	case "strace", "ltrace":
		p := parse(c.args, takes{short: "eEoOpsSuaPIbXnlxU", long: "output trace attach user env string-limit"}, true)
		for _, file := range p.all("o", "output") {
			if text, ok := strings.CutPrefix(file, "|"); ok {
				c.text(text)
			} else {
				c.all([]string{file}, writes)
			}
		}
		c.exec(p.operands)
	case "time":
		p := parse(c.args, takes{short: "fo", long: "format output"}, true)
		c.all(p.all("o", "output"), writes)
		c.exec(p.operands)
	case "at", "batch":
		c.at()
	case "hyperfine":
		p := parse(c.args, takes{
			short: "wmMrPDpcSn",
			long: "warmup min-runs max-runs runs parameter-scan parameter-list prepare conclude cleanup setup shell " +
				"export-json export-csv export-markdown command-name reference",
		}, false)
		c.all(p.all("export-json", "export-csv", "export-markdown"), writes)
		for _, text := range slices.Concat(p.operands, p.all("p", "prepare", "c", "conclude", "cleanup", "s", "setup")) {
			c.text(text)
		}
	case "busybox", "toybox":
		if len(c.args) > 0 && !strings.HasPrefix(c.args[0], "-") {
			c.exec(c.args)
		}
	case "nix-shell", "nix":
		for i, arg := range c.args {
			if i+1 < len(c.args) && (arg == "--run" || arg == "--command") {
				c.text(c.args[i+1])
			} else if i+1 < len(c.args) && arg == "-c" && c.name == "nix" {
				c.exec(c.args[i+1:])
			}
		}
	case "tmux", "screen", "concurrently", "entr", "nodemon", "watchexec", "chronic", "expect", "vagrant", "ansible", "adb":
		c.session()
	default:
		return c.prefix()
	}
	return true
}

// prefix judges commands that take options, some operands, and then a command.
func (c *call) prefix() bool {
	var t takes
	skip := 0
	switch c.name {
	case "nohup", "setsid", "fakeroot", "unbuffer", "catchsegv", "dumb-init", "tini", "chronic", "ccache", "sccache", "distcc",
		"torsocks", "torify", "proxychains", "proxychains4", "rlwrap", "winpty", "caffeinate", "cpulimit", "ts",
		"systemd-cat", "linux32", "linux64", "setarch", "i386", "x86_64", "eatmydata", "firejail", "capsh", "dbus-launch":
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
	case "taskset", "numactl", "prlimit", "faketime", "chpst", "softlimit", "setuidgid", "envdir", "gosu", "su-exec", "setlock",
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
		t = takes{short: "tSGRw+m+", long: "target setuid setgid root map-user map-group propagation setgroups load-interp"}
	case "setpriv":
		t = takes{long: "reuid regid groups inh-caps ambient-caps bounding-set securebits selinux-label pdeathsig"}
	case "pkexec":
		t = takes{long: "user"}
	case "systemd-run":
		t = takes{short: "upEdHM", long: "unit property description slice uid gid nice working-directory setenv host machine " +
			"on-active on-boot on-calendar service-type path-property"}
	case "systemd-inhibit":
		t = takes{long: "what who why mode"}
	case "xvfb-run":
		t = takes{short: "enspfw", long: "error-file server-num server-args auth-file"}
	case "valgrind", "heaptrack", "dbus-run-session", "rr":
	case "direnv", "aws-vault", "dotenv", "op", "doppler", "chamber":
		return c.afterWord()
	case "poetry", "pipenv", "uv", "hatch", "pdm", "bundle", "rbenv", "pyenv", "nodenv", "asdf", "mise", "conda", "mamba",
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
	t := takes{short: "pwC", long: "package call prefix workspace filter directory dir cwd project python extra with group env"}
	p := parse(c.args, t, true)
	e := c.e.clone()
	if dir, ok := p.last("C", "prefix", "directory", "dir", "cwd", "project"); ok {
		e.dirs = c.e.absolutes(dir)
		if c.name == "npm" || c.name == "pnpm" || c.name == "yarn" {
			c.all([]string{dir}, writes)
		}
	}
	inner := &call{j: c.j, e: e, name: c.name, in: c.in}
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
		if (verb == "run" || verb == "run-script" || verb == "r") && slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, c.name) {
			return true // a script of the project, by its name
		}
		rest := parse(p.operands[1:], takes{short: "cnpw", long: "call name prefix package workspace python with extra"}, true)
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

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && syntax.ValidName(name)
}

// assignments sets the variables before a command, and returns what follows.
func (c *call) assignments(words []string) []string {
	for len(words) > 0 && strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "=") {
		c.j.assignText(c.e, words[0], true)
		words = words[1:]
	}
	return words
}

func (c *call) env() {
	t := takes{short: "uCSP", long: "unset chdir split-string block-signal+ default-signal+ ignore-signal+ argv0"}
	p := parse(c.args, t, true)
	c.e = c.e.clone()
	for _, o := range p.options {
		switch {
		case o.is([]string{"u", "unset"}):
			c.j.setting(o.value, "")
			c.e.forget(o.value)
		case o.is([]string{"C", "chdir"}):
			c.e.goTo(c.e.absolutes(o.value))
		case o.is([]string{"i", "ignore-environment"}):
			c.e.vars = map[string]*variable{"IFS": {values: []string{" \t\n"}}}
		}
	}
	words := p.operands
	if text, ok := p.last("S", "split-string"); ok {
		if vague(text) {
			c.j.blocks(RuleUnknown, "env -S would run text that cannot be evaluated. Write the command out.")
			return
		}
		words = slices.Concat(splitText(c, text), words)
		if len(words) > 0 && strings.HasPrefix(words[0], "-") {
			c.args = words
			c.exec(append([]string{"env"}, words...))
			return
		}
	}
	if len(words) > 0 && words[0] == "-" {
		words = words[1:]
	}
	words = c.assignments(words)
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	c.exec(words)
}

// splitText splits a text into words as a shell does, without running anything.
func splitText(c *call, text string) []string {
	file, err := c.j.parse(plain(text))
	if err != nil || len(file.Stmts) != 1 {
		return strings.Fields(text)
	}
	cmd, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return strings.Fields(text)
	}
	var words []string
	for _, a := range cmd.Assigns {
		if a.Name != nil {
			words = append(words, a.Name.Value+"="+c.j.literal(c.e, a.Value))
		}
	}
	return append(words, c.j.fields(c.e, cmd.Args)...)
}

func (c *call) sudo() {
	p := parse(c.args, takes{
		short: "ugCcDhpRrTtUa",
		long:  "user group chdir close-from host login-class other-user prompt role type chroot command-timeout auth-type",
	}, true)
	if c.name == "doas" {
		p = parse(c.args, takes{short: "aCu"}, true)
	}
	c.e = c.e.clone()
	if dir, ok := p.last("D", "chdir"); ok && c.name == "sudo" {
		c.e.goTo(c.e.absolutes(dir))
	}
	words := c.assignments(p.operands)
	switch {
	case p.has("e", "edit"):
		c.all(words, writes)
	case p.has("l", "list") && c.name == "sudo":
	case p.has("s", "shell", "i", "login") && len(words) > 0:
		c.text(strings.Join(words, " "))
	case p.has("s", "shell", "i", "login"):
		c.standardInput()
	default:
		c.exec(words)
	}
}

// standardInput judges the input as the text of a shell.
func (c *call) standardInput() {
	if !c.in.inherited {
		c.text(c.in.text)
	}
}

func (c *call) su() {
	t := takes{short: "cgGsTw", long: "command session-command group supp-group shell"}
	if c.name == "runuser" {
		t.short += "u"
		t.long += " user"
	}
	p := parse(c.args, t, true)
	// options may follow the user
	rest := p.operands
	for len(rest) > 0 && rest[0] == "-" {
		rest = rest[1:]
	}
	ran := false
	for _, text := range p.all("c", "command", "session-command") {
		c.text(text)
		ran = true
	}
	if c.name == "runuser" && p.has("u", "user") {
		if len(rest) > 0 && rest[0] == "--" {
			rest = rest[1:]
		}
		c.exec(rest)
		return
	}
	after := parse(rest[min(1, len(rest)):], t, false)
	for _, text := range after.all("c", "command", "session-command") {
		c.text(text)
		ran = true
	}
	if !ran {
		c.standardInput()
	}
}

func (c *call) typescript() {
	t := takes{short: "cEITOBom", long: "command echo log-in log-timing log-out log-io output-limit logging-format timing+"}
	p := parse(c.args, t, false)
	for _, text := range p.all("c", "command") {
		c.text(text)
	}
	c.all(p.all("log-in", "log-timing", "log-out", "log-io", "timing", "O", "B", "I"), writes)
	if p.has("c", "command") {
		c.all(p.operands, writes)
		return
	}
	first := parse(c.args, t, true)
	c.all(first.operands[:min(1, len(first.operands))], writes)
	if len(first.operands) > 1 {
		c.exec(first.operands[1:])
	} else if len(first.operands) == 0 {
		c.standardInput()
	}
}

func (c *call) flock() {
	p := parse(c.args, takes{short: "wE", long: "wait timeout conflict-exit-code"}, true)
	if len(p.operands) == 0 {
		return
	}
	lock, rest := p.operands[0], p.operands[1:]
	if strings.Trim(lock, "0123456789") != "" {
		c.all([]string{lock}, writes)
	}
	if len(rest) > 1 && (rest[0] == "-c" || rest[0] == "--command") {
		c.text(rest[1])
		return
	}
	if text, ok := p.last("c", "command"); ok && text != "" {
		c.text(text)
		return
	}
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	c.exec(rest)
}

// at judges commands that run later.
func (c *call) at() {
	p := parse(c.args, takes{short: "qft"}, false)
	if p.has("l", "r", "d", "c", "V") {
		return
	}
	text := c.in.text
	if file, ok := p.last("f"); ok {
		if text, ok = c.fed(file); !ok {
			return
		}
	}
	c.text(text)
}

// session judges programs that start commands in sessions of their own.
func (c *call) session() {
	switch c.name {
	case "tmux":
		for i, arg := range c.args {
			switch arg {
			case "new-session", "new", "new-window", "neww", "split-window", "splitw", "respawn-pane", "run-shell", "run",
				"if-shell", "if", "pipe-pane", "respawn-window", "display-popup", "popup", "confirm-before":
				p := parse(c.args[i+1:], takes{short: "csntxyeFl"}, true)
				if len(p.operands) == 1 {
					c.text(p.operands[0])
				} else if len(p.operands) > 1 {
					c.text(strings.Join(p.operands, " "))
				}
				return
			case "send-keys", "send":
				p := parse(c.args[i+1:], takes{short: "tN"}, false)
				c.text(strings.Join(slices.DeleteFunc(p.operands, func(s string) bool {
					return s == "Enter" || s == "C-m" || s == "C-c"
				}), " "))
				return
			}
		}
	case "screen":
		p := parse(c.args, takes{short: "SceshtTLp"}, true)
		if p.has("X") || p.has("r", "x", "ls", "list") {
			if i := slices.Index(c.args, "stuff"); i >= 0 && i+1 < len(c.args) {
				c.text(escapes(c.args[i+1], false))
			} else if i := slices.Index(c.args, "exec"); i >= 0 {
				c.exec(c.args[i+1:])
			}
			return
		}
		c.exec(p.operands)
	case "concurrently":
		for _, text := range parse(c.args, takes{short: "ncp", long: "names prefix-colors kill-others-on prefix"}, false).operands {
			if !strings.HasPrefix(text, "npm:") {
				c.text(text)
			}
		}
	case "entr", "watchexec", "chronic":
		p := parse(c.args, takes{short: "weifds", long: "watch exts ignore filter debounce signal"}, true)
		if p.has("s", "shell") && c.name == "entr" {
			c.text(strings.Join(append(p.all("s"), p.operands...), " "))
			return
		}
		if len(p.operands) == 1 && c.name == "watchexec" {
			c.text(p.operands[0])
			return
		}
		c.exec(p.operands)
	case "nodemon":
		p := parse(c.args, takes{short: "xweid", long: "exec watch ext ignore delay"}, true)
		for _, text := range p.all("x", "exec") {
			c.text(text)
		}
	case "vagrant":
		for _, text := range parse(c.args, takes{short: "c", long: "command"}, false).all("c", "command") {
			c.text(text)
		}
	case "ansible":
		for _, text := range parse(c.args, takes{short: "a", long: "args"}, false).all("a", "args") {
			c.text(text)
		}
	case "adb":
		if i := slices.Index(c.args, "shell"); i >= 0 && i+1 < len(c.args) {
			c.j.elsewhere++
			c.text(strings.Join(c.args[i+1:], " "))
			c.j.elsewhere--
		}
	case "expect":
		for _, code := range parse(c.args, takes{short: "cf"}, true).all("c") {
			c.code("expect", code)
		}
	}
}
