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
		for _, text := range slices.Concat(p.operands, p.all("p", "prepare", "c", "conclude", "cleanup", "s",
			"setup")) {
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
	case "maestro":
		c.maestro()
	case "tmux", "screen", "concurrently", "entr", "nodemon", "watchexec", "chronic", "expect", "vagrant", "ansible",
		"adb":
		c.session()
	default:
		return c.prefix()
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
		long: "user group chdir close-from host login-class other-user prompt role type chroot command-timeout " +
			"auth-type",
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
	t := takes{
		short: "cEITOBom",
		long:  "command echo log-in log-timing log-out log-io output-limit logging-format timing+",
	}
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

// maestro judges `maestro session exec <sessionId> -- <command>`, and the files that maestro writes itself.
func (c *call) maestro() {
	words := parse(c.args, takes{short: "o", long: "output"}, true).operands
	if len(words) == 0 {
		return
	}
	switch words[0] {
	case "audit", "backup", "bench", "demo", "import", "man", "manifest", "restore", "salvage", "serve":
		for _, arg := range c.args {
			if strings.HasPrefix(arg, "-") {
				_, arg, _ = strings.Cut(arg, "=")
			}
			if strings.ContainsAny(arg, "/~") {
				c.all([]string{arg}, writes)
			}
		}
	}
	end := slices.Index(c.args, "--")
	if end < 0 || !slices.Contains(c.args[:end], "exec") {
		return
	}
	if dir, ok := parse(c.args[:end], takes{short: "o", long: "working-directory allow output"}, false).
		last("working-directory"); ok {
		c.e = c.e.clone()
		c.e.dirs = c.e.absolutes(dir)
	}
	c.exec(c.args[end+1:])
}
