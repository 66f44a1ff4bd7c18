package sandbox

import (
	"path"
	"slices"
	"strings"
)

// all judges a change of each path.
func (c *call) all(paths []string, how act) {
	for _, p := range paths {
		c.j.change(c.e, c.name, p, how)
	}
}

// writer judges commands that change the paths they name.
func (c *call) writer() bool {
	switch c.name {
	case "rm", "rmdir", "unlink", "trash", "trash-put", "gio", "srm", "rimraf", "del-cli", "shred", "wipe":
		c.remove()
	case "touch", "mkdir", "mkfifo", "mknod", "tee", "truncate", "fallocate", "sponge", "mkdirp", "make-dir-cli",
		"mktemp",
		"tempfile", "split", "csplit":
		c.create()
	case "chmod", "chown", "chgrp", "chattr", "setfacl", "setfattr", "setcap", "chcon", "restorecon", "xattr",
		"chflags":
		c.alter()
	case "cp", "mv", "gcp", "gmv", "install", "ginstall", "rename", "prename", "file-rename", "mmv", "cpx", "ncp":
		c.copy()
	case "ln", "link", "symlink":
		c.ln()
	case "mount":
		c.mount()
	case "sort", "uniq", "patch", "crontab", "comm", "iconv", "pv", "sqlite3", "ssh-keygen", "openssl", "gpg", "gpg2",
		"age":
		return c.outputOption()
	default:
		return false
	}
	return true
}

func (c *call) remove() {
	args := c.args
	if c.name == "gio" {
		if len(args) == 0 || args[0] != "trash" && args[0] != "remove" {
			return
		}
		args = args[1:]
	}
	t := takes{}
	if c.name == "shred" {
		t = takes{short: "ns", long: "iterations size random-source"}
	}
	c.all(parse(args, t, false).operands, deletes)
}

func (c *call) create() {
	var t takes
	switch c.name {
	case "touch":
		t = takes{short: "drt", long: "date reference time"}
	case "mkdir", "mkfifo", "mknod":
		t = takes{short: "m", long: "mode context+"}
	case "truncate":
		t = takes{short: "sr", long: "size reference"}
	case "fallocate":
		t = takes{short: "lo", long: "length offset"}
	case "mktemp", "tempfile":
		c.mktemp()
		return
	case "split":
		t = takes{
			short: "abClnt",
			long:  "suffix-length bytes line-bytes lines number additional-suffix filter separator",
		}
	case "csplit":
		t = takes{short: "fbn", long: "prefix suffix-format digits"}
	}
	p := parse(c.args, t, false)
	switch c.name {
	case "mknod":
		p.operands = p.operands[:min(1, len(p.operands))]
	case "split":
		if text, ok := p.last("filter"); ok {
			c.text(text)
		}
		p.operands = append(p.operands[min(1, len(p.operands)):], ".")[:1]
	case "csplit":
		p.operands = append(p.all("f", "prefix"), ".")[:1]
	case "tee", "sponge":
		for _, file := range p.operands {
			c.j.change(c.e, c.name, file, writes)
			c.j.remember(c.e, file, c.in.text)
		}
		return
	}
	c.all(p.operands, writes)
}

func (c *call) mktemp() {
	p := parse(c.args, takes{short: "p", long: "tmpdir+ suffix"}, false)
	for _, dir := range p.all("p", "tmpdir") {
		c.all([]string{dir}, writes)
	}
	for _, template := range p.operands {
		if strings.Contains(template, "/") || !p.has("p", "t", "tmpdir") {
			c.all([]string{template}, writes)
		}
	}
}

func (c *call) alter() {
	t := takes{long: "reference from"}
	switch c.name {
	case "setfacl":
		t = takes{short: "mxMX", long: "set set-file modify modify-file remove remove-file restore"}
	case "setfattr":
		t = takes{short: "nvx", long: "name value remove restore"}
	case "chcon":
		t = takes{short: "urtl", long: "user role type range reference"}
	case "chattr":
		var paths []string
		for i := 0; i < len(c.args); i++ {
			switch arg := c.args[i]; {
			case arg == "-v" || arg == "-p":
				i++
			case strings.IndexByte("-+=", (arg + "x")[0]) < 0:
				paths = append(paths, arg)
			}
		}
		c.all(paths, alters)
		return
	}
	args, mode := slices.Clone(c.args), false
	if c.name == "chmod" {
		// a mode such as -x looks like an option
		args = slices.DeleteFunc(args, func(arg string) bool {
			is := len(arg) > 1 && arg[0] == '-' && strings.Trim(arg[1:], "rwxXstugoa,=+-01234567") == "" && arg != "--"
			mode = mode || is
			return is
		})
	}
	p := parse(args, t, false)
	operands := p.operands
	switch c.name {
	case "chmod", "chown", "chgrp", "setcap", "chflags":
		mode = mode || p.has("reference") || c.name == "setcap" && p.has("r")
	case "chcon":
		mode = len(p.options) > 0 && p.has("u", "r", "t", "l", "reference", "user", "role", "type", "range")
	case "xattr":
		operands = operands[max(0, len(operands)-1):]
		mode = true
	default:
		mode = true
	}
	if !mode && len(operands) > 0 {
		operands = operands[1:]
	}
	c.all(operands, alters)
	c.all(p.all("restore"), alters)
}

// destination divides operands into sources and the destination.
func destination(p parsed) (sources []string, to string, ok bool) {
	if to, ok := p.last("t", "target-directory"); ok {
		return p.operands, to, true
	}
	if n := len(p.operands); n > 1 {
		return p.operands[:n-1], p.operands[n-1], true
	}
	return p.operands, "", false
}

func (c *call) copy() {
	t := takes{short: "tS", long: "target-directory suffix"}
	switch c.name {
	case "install", "ginstall":
		t = takes{short: "gmotS", long: "group mode owner target-directory suffix strip-program context+"}
	case "rename", "prename", "file-rename", "mmv":
		p := parse(c.args, takes{short: "eE"}, false)
		if !p.has("n", "nono", "no-act") {
			c.all(p.operands[min(1, len(p.operands)):], moves)
		}
		return
	}
	p := parse(c.args, t, false)
	if strings.HasSuffix(c.name, "install") && p.has("d", "directory") {
		c.all(p.operands, writes)
		return
	}
	if text, ok := p.last("strip-program"); ok {
		c.text(text)
	}
	sources, to, ok := destination(p)
	if strings.HasSuffix(c.name, "mv") {
		c.all(sources, moves)
	}
	if !ok {
		return
	}
	switch {
	case c.name == "cp" && p.has("s", "symbolic-link"), c.name == "cp" && p.has("l", "link"):
		for _, source := range sources {
			c.j.link(c.e, c.name, to, source, p.has("s", "symbolic-link"))
		}
	default:
		how := writes
		if strings.HasSuffix(c.name, "mv") && strings.HasPrefix(to, "/dev/") {
			how = moves // replaces it, even if it is a sink
		}
		c.j.change(c.e, c.name, to, how)
		for _, source := range sources {
			if text, known := c.j.contentOf(c.e, source); known {
				c.j.remember(c.e, to, text)
				c.j.remember(c.e, to+"/"+path.Base(source), text)
			}
		}
	}
}

func (c *call) ln() {
	p := parse(c.args, takes{short: "tS", long: "target-directory suffix"}, false)
	sources, to, ok := destination(p)
	if !ok {
		to = "./"
	} else if p.has("t", "target-directory") || len(sources) > 1 {
		to += "/"
	}
	for _, source := range sources {
		c.j.link(c.e, c.name, to, source, p.has("s", "symbolic"))
	}
}

func (c *call) mount() {
	p := parse(c.args, takes{
		short: "toOLUpT",
		long:  "types options test-opts label uuid source target target-prefix bind+",
	}, false)
	if n := len(p.operands); n > 0 && !p.has("l", "V", "h", "help", "version") {
		c.all(p.operands[n-1:], alters)
		if n > 1 && (p.has("B", "R", "bind", "rbind") || strings.Contains(strings.Join(p.all("o", "options"), ","),
			"bind")) {
			c.j.link(c.e, c.name, p.operands[1], p.operands[0], false)
		}
	}
}

// outputOption judges commands whose output has an option of its own.
func (c *call) outputOption() bool {
	switch c.name {
	case "sort":
		p := parse(c.args, takes{
			short: "kStoT",
			long: "key field-separator output buffer-size temporary-directory compress-program parallel batch-size " +
				"files0-from random-source sort",
		}, false)
		c.all(p.all("o", "output", "T", "temporary-directory"), writes)
		for _, text := range p.all("compress-program") {
			c.text(text)
		}
	case "uniq":
		p := parse(c.args, takes{short: "fsw", long: "skip-fields skip-chars check-chars"}, false)
		c.all(p.operands[min(1, len(p.operands)):], writes)
	case "patch":
		p := parse(c.args, takes{
			short: "BDFYVdgioprxz",
			long:  "prefix ifdef fuzz directory get input output strip reject-file debug suffix version-control",
		}, false)
		e := c.e.clone()
		if dir, ok := p.last("d", "directory"); ok {
			e.dirs = c.e.absolutes(dir)
		}
		targets := append(p.all("o", "output", "r", "reject-file"), p.operands[:min(1, len(p.operands))]...)
		if len(p.operands) == 0 && !p.has("dry-run", "output", "o") {
			targets = append(targets, ".")
		}
		for _, target := range targets {
			c.j.change(e, c.name, target, writes)
		}
	case "crontab":
		c.crontab()
	case "ssh-keygen":
		c.sshKeygen()
	case "openssl":
		for i, arg := range c.args {
			if i+1 < len(c.args) && slices.Contains([]string{"-out", "-keyout", "-writerand", "-outdir", "-CAserial"},
				arg) {
				c.all(c.args[i+1:i+2], writes)
			}
		}
	case "gpg", "gpg2", "age":
		p := parse(c.args, takes{
			short: "oruN",
			long: "output recipient local-user homedir passphrase passphrase-file passphrase-fd status-fd keyserver " +
				"pinentry-mode options",
		}, false)
		c.all(p.all("o", "output"), writes)
	default:
		return false
	}
	return true
}

func (c *call) sshKeygen() {
	p := parse(c.args, takes{short: "abCDEFfGIJjKLMmnNOPRrSsTtVWwYzZ"}, false)
	reads := p.has("y", "l", "F", "B", "Y", "D", "Q") && !p.has("t")
	files := p.all("f")
	if _, ok := p.last("R"); ok && len(files) == 0 {
		return
	}
	if !reads {
		c.all(files, writes)
	}
}

// crontab judges the commands of a table that is installed.
func (c *call) crontab() {
	p := parse(c.args, takes{short: "u"}, false)
	if p.has("l", "e") {
		return
	}
	if p.has("r") {
		c.j.blocks(RuleDeferred, "crontab -r removes the user's schedule, which is outside the target. Leave it alone.")
		return
	}
	text := c.in.text
	if len(p.operands) > 0 {
		var ok bool
		if text, ok = c.fed(p.operands[0]); !ok {
			text = unknown
		}
	}
	if vague(text) {
		c.j.blocks(RuleUnknown, "crontab installs commands that cannot be evaluated. Leave the schedule alone.")
		return
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		skip := 5
		if strings.HasPrefix(line, "@") {
			skip = 1
		}
		if len(fields) <= skip || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if name, _, ok := strings.Cut(fields[0], "="); ok {
			c.j.setting(name, unknown)
			continue
		}
		c.j.text(c.e.child(), strings.Join(fields[skip:], " "), &input{text: unknown, inherited: true})
	}
}
