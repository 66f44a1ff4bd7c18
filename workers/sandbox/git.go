package sandbox

import (
	"slices"
	"strings"
)

// git judges git: the commands that it runs, and whether it changes another tree.
func (c *call) git() bool {
	switch c.name {
	case "git", "hub":
	default:
		return false
	}
	e := c.e.clone()
	c.e = e
	var trees []string
	args := c.args
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		arg := args[0]
		args = args[1:]
		name, value, has := strings.Cut(arg, "=")
		switch name {
		case "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix":
			if !has && name != "--exec-path" && len(args) > 0 {
				value, args = args[0], args[1:]
			}
		}
		switch name {
		case "-C":
			e.goTo(e.absolutes(value))
		case "-c":
			key, set, _ := strings.Cut(value, "=")
			c.setting(key, set)
		case "--config-env":
			key, from, _ := strings.Cut(value, "=")
			set, _ := e.value(from)
			c.setting(key, set)
		case "--git-dir", "--work-tree":
			trees = append(trees, value)
		}
	}
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE"} {
		if value, ok := e.value(name); ok && value != "" {
			trees = append(trees, value)
		}
	}
	if len(args) == 0 {
		return true
	}
	c.args = args[1:]
	if vague(args[0]) {
		return true
	}
	c.gitCommand(args[0], trees)
	return true
}

// setting judges a setting of git that names a command.
func (c *call) setting(key, value string) {
	key = asciiLower(key)
	section, _, _ := strings.Cut(key, ".")
	last := key[strings.LastIndexByte(key, '.')+1:]
	runs := false
	switch section {
	case "alias":
		if text, ok := strings.CutPrefix(value, "!"); ok {
			c.text(text)
		} else if vague(value) {
			c.text(unknown)
		} else if value != "" {
			inner := &call{
				j:    c.j,
				e:    c.e,
				name: c.name,
				in:   c.in,
			}
			inner.exec(append([]string{"git"}, splitText(c, value)...))
		}
		return
	case "core":
		runs = slices.Contains([]string{
			"pager", "editor", "sshcommand", "askpass", "gitproxy",
			"alternaterefscommand",
		}, last) ||
			last == "fsmonitor" && value != "true" && value != "false"
	case "pager":
		runs = value != "true" && value != "false"
	case "credential":
		runs = last == "helper" && (strings.HasPrefix(value, "!") || strings.HasPrefix(value, "/"))
	case "diff", "difftool", "mergetool", "merge", "filter", "browser", "man", "trailer", "guitool", "interactive",
		"sequence",
		"gpg", "uploadpack", "remote", "sendemail", "ssh", "web", "submodule", "tar", "log", "receive", "imap", "hook":
		runs = slices.Contains([]string{
			"external", "command", "textconv", "cmd", "driver", "clean", "smudge", "process", "editor", "program",
			"packobjectshook", "uploadpack", "receivepack", "difffilter", "sendmailcmd", "tocmd", "cccmd", "headercmd",
			"defaultkeycommand", "tunnel", "procreceiverefs",
		}, last) || last == "update" && strings.HasPrefix(value, "!")
	}
	if runs && value != "" {
		c.text(strings.TrimPrefix(value, "!"))
	}
}

// gitReads are the subcommands that change nothing.
func gitReads(name string, args []string) bool {
	p := parse(args, takes{}, false)
	switch name {
	case "status", "log", "diff", "show", "rev-parse", "ls-files", "ls-tree", "ls-remote", "cat-file", "blame",
		"annotate",
		"grep", "describe", "shortlog", "for-each-ref", "merge-base", "name-rev", "rev-list", "show-ref",
		"count-objects",
		"fsck", "help", "version", "check-ignore", "check-attr", "check-mailmap", "diff-tree", "diff-index",
		"diff-files",
		"whatchanged", "cherry", "range-diff", "var", "show-branch", "archive", "format-patch", "difftool", "bundle",
		"clone",
		"init", "verify-commit", "verify-tag", "merge-tree", "get-tar-commit-id", "patch-id", "show-index",
		"fast-export",
		"check-ref-format", "column", "stripspace", "interpret-trailers", "request-pull", "bugreport", "diagnose",
		"gitk",
		"instaweb", "web--browse", "send-email", "http-fetch", "upload-pack", "verify-pack", "mailinfo",
		"last-modified",
		"hash-object", "unpack-file":
		return name != "hash-object" || !p.has("w")
	case "branch", "tag":
		return len(p.operands) == 0 || p.has("l", "list", "contains", "merged", "no-merged", "points-at", "a", "r",
			"v", "verify")
	case "remote":
		return len(p.operands) == 0 || slices.Contains([]string{"show", "get-url"}, p.operands[0])
	case "config":
		return p.has("get", "get-all", "get-regexp", "list", "l", "get-urlmatch", "get-color") ||
			len(p.operands) == 1 || len(p.operands) > 0 && (p.operands[0] == "get" || p.operands[0] == "list") ||
			p.has("global", "system", "f", "file")
	case "stash", "worktree", "notes", "reflog", "submodule", "bisect", "lfs", "sparse-checkout", "maintenance",
		"replace":
		verb := ""
		if len(p.operands) > 0 {
			verb = p.operands[0]
		}
		return slices.Contains([]string{
			"list", "show", "status", "summary", "foreach", "log", "view", "ls-files",
			"env",
		}, verb) ||
			verb == "" && name != "stash"
	}
	return false
}

func (c *call) gitCommand(name string, trees []string) {
	if slices.Contains(c.args, "--help") || slices.Contains(c.args, "-h") && name != "grep" {
		return
	}
	if !gitReads(name, c.args) {
		if len(trees) == 0 {
			trees = []string{"."}
		}
		for _, tree := range trees {
			c.j.change(c.e, "git "+name, tree, writes)
		}
	}
	c.gitRuns(name)
	c.gitWrites(name)
}

// gitRuns judges the commands that a subcommand runs.
func (c *call) gitRuns(name string) {
	for i, arg := range c.args {
		option, value, has := strings.Cut(arg, "=")
		if !has && i+1 < len(c.args) {
			value = c.args[i+1]
		}
		switch option {
		case "--upload-pack", "--receive-pack", "--extcmd", "--open-files-in-pager", "--to-cmd", "--cc-cmd",
			"--sendmail-cmd":
			if has || option != "--open-files-in-pager" {
				c.text(value)
			}
		case "--exec":
			if name == "rebase" || name == "push" || name == "archive" || name == "ls-remote" || name == "fetch-pack" {
				c.text(value)
			}
		case "-x":
			if name == "rebase" || name == "difftool" {
				c.text(value)
			}
		case "-u":
			if name == "clone" || name == "ls-remote" {
				c.text(value)
			}
		case "--smtp-server":
			if strings.HasPrefix(value, "/") {
				c.text(value)
			}
		case "-c", "--config":
			if name == "clone" || name == "submodule" {
				key, set, _ := strings.Cut(value, "=")
				c.setting(key, set)
			}
		}
		if text, ok := strings.CutPrefix(arg, "ext::"); ok {
			c.text(strings.NewReplacer("%s", " ", "%S", "git-upload-pack", "%G", "", "%V", "", "% ", " ").Replace(text))
		}
		if text, ok := strings.CutPrefix(arg, "-O"); ok && name == "grep" && text != "" {
			c.text(text)
		}
		if text, ok := strings.CutPrefix(arg, "-x"); ok && text != "" && (name == "rebase" || name == "difftool") &&
			!strings.HasPrefix(arg, "--") {
			c.text(text)
		}
	}
	operands := c.args
	switch name {
	case "bisect":
		if len(operands) > 1 && operands[0] == "run" {
			c.exec(operands[1:])
		}
	case "submodule":
		p := parse(operands, takes{}, true)
		if len(p.operands) > 1 && p.operands[0] == "foreach" {
			c.foreach(parse(p.operands[1:], takes{}, true).operands)
		}
	case "for-each-repo":
		c.exec(append([]string{"git"}, parse(operands, takes{long: "config"}, true).operands...))
	case "filter-branch":
		p := parse(operands, takes{
			short: "d",
			long: "setup env-filter tree-filter index-filter parent-filter msg-filter commit-filter tag-name-filter " +
				"subdirectory-filter original state-branch",
		}, true)
		for _, text := range p.all("setup", "env-filter", "tree-filter", "index-filter", "parent-filter", "msg-filter",
			"commit-filter", "tag-name-filter") {
			c.text(text)
		}
	case "config":
		p := parse(operands, takes{short: "f", long: "file blob type default comment value"}, false)
		words := p.operands
		if len(words) > 0 && words[0] == "set" {
			words = words[1:]
		}
		if len(words) > 1 {
			c.setting(words[0], words[1])
		}
		if !p.has("get", "list", "l") {
			c.all(p.all("f", "file"), writes)
		}
	}
}

func (c *call) foreach(words []string) {
	switch len(words) {
	case 0:
	case 1:
		c.text(words[0])
	default:
		c.exec(words)
	}
}

// gitWrites judges the paths that a subcommand writes.
func (c *call) gitWrites(name string) {
	p := parse(c.args, takes{
		short: "obBmFCcSuJ",
		long: "output output-directory branch depth origin reference reference-if-able separate-git-dir template " +
			"message " +
			"format prefix remote exec upload-pack config recurse-submodules+ jobs server-option filter " +
			"shallow-since name " +
			"author date file reason",
	}, false)
	c.all(p.all("output", "output-directory", "separate-git-dir"), writes)
	operands := p.operands
	switch name {
	case "archive", "format-patch", "bugreport", "diagnose":
		c.all(p.all("o"), writes)
		if name == "format-patch" && !p.has("o", "output-directory", "stdout") {
			c.all([]string{"."}, writes)
		}
	case "clone":
		if n := len(operands); n > 1 {
			c.all(operands[1:2], writes)
		} else if n == 1 {
			c.all([]string{"./" + strings.TrimSuffix(operands[0][strings.LastIndexAny(operands[0], "/:")+1:],
				".git")}, writes)
		}
	case "init":
		if len(operands) > 0 {
			c.all(operands[:1], writes)
		} else {
			c.all([]string{"."}, writes)
		}
	case "worktree":
		if len(operands) > 1 {
			switch operands[0] {
			case "add":
				c.all(operands[1:2], writes)
			case "remove":
				c.all(operands[1:2], deletes)
			case "move":
				c.all(operands[1:], moves)
			}
		}
	case "submodule":
		if len(operands) > 2 && operands[0] == "add" {
			c.all(operands[2:3], writes)
		}
	case "bundle":
		if len(operands) > 1 && operands[0] == "create" {
			c.all(operands[1:2], writes)
		}
	case "checkout-index":
		for _, prefix := range p.all("prefix") {
			c.all([]string{prefix}, writes)
		}
	case "mv":
		c.all(operands, moves)
	case "rm":
		c.all(operands, deletes)
	case "credential-store":
		c.all(p.all("file"), writes)
	}
}
