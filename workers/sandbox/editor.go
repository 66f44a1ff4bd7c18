package sandbox

import (
	"slices"
	"strings"
)

// editor judges editors and other programs that have commands of their own.
func (c *call) editor() bool {
	switch c.name {
	case "sed", "gsed":
		c.sed()
	case "vim", "vi", "nvim", "ex", "view", "gvim", "vimdiff", "rvim", "ed", "red":
		c.vim()
	case "emacs", "emacsclient":
		p := parse(c.args, takes{short: "lf", long: "eval execute load funcall visit"}, false)
		for _, code := range p.all("eval", "execute") {
			c.code("emacs", code)
		}
	case "less", "more", "most":
		for _, arg := range c.args {
			if _, text, ok := strings.Cut(arg, "!"); ok && strings.HasPrefix(arg, "+") {
				c.text(text)
			}
		}
		c.all(parse(c.args, takes{short: "oOPptxykbhjz"}, false).all("o", "O"), writes)
	case "gdb", "lldb":
		for i, arg := range c.args {
			if slices.Contains([]string{"-ex", "-iex", "--ex", "-o", "--eval-command", "-eval-command"}, arg) &&
				i+1 < len(c.args) {
				c.escape(c.args[i+1])
			}
		}
		if i := slices.Index(c.args, "--args"); i >= 0 {
			c.exec(c.args[i+1:])
		}
	case "psql", "mysql", "mariadb", "sqlite", "sqlite3", "ftp", "tig", "w3m", "lynx":
		p := parse(c.args, takes{
			short: "cefhUpdPuvo",
			long:  "command execute file host username port dbname output log-file",
		}, false)
		for _, text := range slices.Concat(p.all("c", "command", "e", "execute"), p.operands) {
			c.escape(text)
		}
		if c.name == "psql" {
			c.all(p.all("o", "output", "L", "log-file"), writes)
		}
		if !c.in.inherited && !vague(c.in.text) {
			c.escape(c.in.text)
		}
	default:
		return false
	}
	return true
}

// escape judges lines of a program that can start a shell: \! cmd, .shell cmd, shell cmd, !cmd.
func (c *call) escape(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{
			`\!`, ".shell ", ".system ", "shell ", "system ", "!", "platform shell ",
			"make ",
		} {
			if command, ok := strings.CutPrefix(line, prefix); ok {
				c.text(strings.TrimSuffix(command, ";"))
			}
		}
		for _, prefix := range []string{".output ", ".once ", ".dump ", ".backup ", ".save ", `\o `, "tee "} {
			if file, ok := strings.CutPrefix(line, prefix); ok {
				if command, ok := strings.CutPrefix(strings.TrimSpace(file), "|"); ok {
					c.text(command)
				} else {
					c.all([]string{strings.Trim(strings.TrimSpace(file), `'"`)}, writes)
				}
			}
		}
		for _, word := range []string{"os.system(", "python "} {
			if _, code, ok := strings.Cut(line, word); ok && c.name != "mysql" {
				c.code("python", word+code)
			}
		}
	}
}

// vim judges the commands of vi and ed, and the files that they then write.
func (c *call) vim() {
	p := parse(c.args, takes{short: "cSTuUwWirqst", long: "cmd"}, false)
	if c.name == "ed" || c.name == "red" {
		p = parse(c.args, takes{short: "p"}, false)
	}
	if c.name == "ex" || p.has("e") {
		p = parse(c.args, takes{short: "cSTuUwWirqt", long: "cmd"}, false)
	}
	commands := p.all("c", "cmd")
	if c.name == "ex" || c.name == "ed" {
		// -sc bundles
		for i, arg := range c.args {
			if strings.HasPrefix(arg, "-") && strings.HasSuffix(arg, "c") && len(arg) > 2 && i+1 < len(c.args) {
				commands = append(commands, c.args[i+1])
			}
		}
	}
	for _, file := range p.all("S") {
		if text, ok := c.fed(file); ok {
			commands = append(commands, strings.Split(text, "\n")...)
		}
	}
	c.all(p.all("w", "W"), writes)
	var files []string
	for _, operand := range p.operands {
		if command, ok := strings.CutPrefix(operand, "+"); ok {
			commands = append(commands, command)
		} else {
			files = append(files, operand)
		}
	}
	batch := c.name == "ed" || c.name == "ex" || p.has("e", "s", "E")
	if batch && !c.in.inherited {
		if vague(c.in.text) {
			c.all(files, writes)
		} else {
			commands = append(commands, strings.Split(c.in.text, "\n")...)
		}
	}
	for _, command := range commands {
		for part := range strings.SplitSeq(command, "|") {
			c.vimCommand(part, files)
		}
		if before, text, ok := strings.Cut(command, "!"); ok && (strings.HasPrefix(command, "!") ||
			!strings.HasPrefix(text, "=")) {
			if len(before) < 40 && strings.TrimSpace(text) != "" {
				c.guess(strings.TrimLeft(text, "! "))
			}
		}
	}
}

func (c *call) vimCommand(command string, files []string) {
	command = strings.TrimLeft(command, " :%0123456789,$.'<>")
	name, rest, _ := strings.Cut(command, " ")
	rest = strings.TrimSpace(rest)
	switch strings.TrimRight(name, "!") {
	case "w", "write", "wq", "x", "xit", "wa", "wall", "wqa", "xa", "up", "update", "sav", "saveas", "W", "Q":
		if text, ok := strings.CutPrefix(rest, "!"); ok {
			c.text(text)
		} else if rest != "" {
			c.all([]string{strings.TrimLeft(rest, ">! ")}, writes)
		} else {
			c.all(files, writes)
		}
	case "terminal", "term", "te", "silent", "sil", "exe", "execute", "call", "let", "echo", "lua", "py", "py3",
		"python", "python3",
		"perl", "ruby":
		if strings.HasPrefix(name, "te") {
			c.guess(rest)
			return
		}
		c.code("vim", rest)
		for _, l := range literals(rest, "vim") {
			c.guess(strings.TrimLeft(l.text, "!: "))
		}
	}
}

// sed judges a sed script, and the files that -i edits.
func (c *call) sed() {
	p := parse(c.args, takes{short: "ef+il", long: "expression file in-place+ line-length"}, false)
	scripts, operands := p.all("e", "expression"), p.operands
	for _, file := range p.all("f", "file") {
		if text, ok := c.fed(file); ok {
			scripts = append(scripts, text)
		}
	}
	if !p.has("e", "expression", "f", "file") && len(operands) > 0 {
		scripts = append(scripts, operands[0])
		operands = operands[1:]
	}
	if p.has("i", "in-place") {
		c.all(operands, writes)
	}
	for _, script := range scripts {
		c.sedScript(script)
	}
}

// sedScript judges the commands of a script that run or write something.
func (c *call) sedScript(script string) {
	if script == unknown {
		return
	}
	s := withoutMarks(script, "x")
	for i := 0; i < len(s); {
		i = afterAddress(s, i)
		if i >= len(s) {
			return
		}
		command := s[i]
		i++
		line := s[i:]
		if end := strings.IndexByte(line, '\n'); end >= 0 {
			line = line[:end]
		}
		switch command {
		case 'e':
			if text := strings.TrimSpace(line); text != "" && text != "}" && text[0] != ';' {
				c.text(text)
			} else {
				c.text(c.in.text)
			}
			i += len(line)
		case 'w', 'W':
			c.all([]string{strings.TrimSpace(line)}, writes)
			i += len(line)
		case 'r', 'R':
			c.j.read(c.e, c.name, strings.TrimSpace(line))
			i += len(line)
		case 'a', 'i', 'c', 'b', 't', 'T', ':', '#', 'v', 'q', 'Q', 'l', 'L':
			if strings.IndexByte("btTqQlL", command) >= 0 {
				if end := strings.IndexAny(line, ";}"); end >= 0 {
					line = line[:end]
				}
			}
			for strings.HasSuffix(line, "\\") && i+len(line)+1 < len(s) {
				more := s[i+len(line)+1:]
				if end := strings.IndexByte(more, '\n'); end >= 0 {
					more = more[:end]
				}
				line = s[i : i+len(line)+1+len(more)]
			}
			i += len(line)
		case 's', 'y':
			i = c.substitute(s, i, command == 's')
		}
	}
}

// afterAddress skips the addresses before a command.
func afterAddress(s string, i int) int {
	for i < len(s) {
		switch c := s[i]; {
		case strings.IndexByte(" \t\n;{},$!0123456789+~", c) >= 0:
			i++
		case c == '/':
			_, i = delimited(s, i+1, '/')
		case c == '\\' && i+1 < len(s):
			_, i = delimited(s, i+2, s[i+1])
		case c == 'I' || c == 'M':
			i++
		default:
			return i
		}
	}
	return i
}

// delimited reads to the next delimiter, and returns what is before it and the position behind it.
func delimited(s string, i int, delimiter byte) (string, int) {
	from := i
	for i < len(s) && s[i] != delimiter {
		if s[i] == '\\' {
			i++
		}
		i++
	}
	return s[min(from, len(s)):min(i, len(s))], min(i+1, len(s))
}

// substitute judges s///, whose flags can run the result or write it.
func (c *call) substitute(s string, i int, flagged bool) int {
	if i >= len(s) {
		return i
	}
	delimiter := s[i]
	pattern, i := delimited(s, i+1, delimiter)
	with, i := delimited(s, i, delimiter)
	if !flagged {
		return i
	}
	for i < len(s) && strings.IndexByte("gpiIemMw0123456789", s[i]) >= 0 {
		switch s[i] {
		case 'e':
			if strings.Trim(pattern, "^$.*") == "" && !strings.ContainsAny(with, "&\\") {
				c.text(with)
			} else {
				c.guess(with)
				c.text(unknown)
			}
		case 'w':
			file := s[i+1:]
			if end := strings.IndexByte(file, '\n'); end >= 0 {
				file = file[:end]
			}
			c.all([]string{strings.TrimSpace(file)}, writes)
			return i + 1 + len(file)
		}
		i++
	}
	return i
}
