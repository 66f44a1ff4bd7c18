package sandbox

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// literalText is a text in code: its value, and where it stands with its quotes.
type literalText struct {
	text     string
	from, to int
	// runs says that the language runs it: a text in backquotes, for example.
	runs bool
}

// literals finds the texts in code.
func literals(code, lang string) (found []literalText) {
	for i := 0; i < len(code); {
		c := code[i]
		if (c == '#' && lang != "node" && lang != "php" && (i == 0 || code[i-1] == '\n' || code[i-1] == ' ') ||
			strings.HasPrefix(code[i:], "//") && (lang == "node" || lang == "php")) && i > 0 && code[i-1] != ':' {
			if end := strings.IndexByte(code[i:], '\n'); end >= 0 && !strings.HasPrefix(code[i:], "#{") {
				i += end
				continue
			}
		}
		if from, end, open, ok := percent(code, i, lang); ok {
			found = append(found, literalText{code[from:end], i, min(end+1, len(code)), open == 'x'})
			i = end + 1
			continue
		}
		if c != '\'' && c != '"' && c != '`' {
			i++
			continue
		}
		quote := code[i : i+1]
		if strings.HasPrefix(code[i:], strings.Repeat(quote, 3)) && lang == "python" {
			quote = strings.Repeat(quote, 3)
		}
		end := i + len(quote)
		for end < len(code) && !strings.HasPrefix(code[end:], quote) {
			if code[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(code))
		value := code[min(i+len(quote), end):end]
		if lang != "awk" || strings.Contains(value, `\`) {
			value = escapes(value, true)
		}
		runs := c == '`' && (lang == "perl" || lang == "ruby" || lang == "php")
		found = append(found, literalText{value, i, min(end+len(quote), len(code)), runs})
		i = end + len(quote)
	}
	return found
}

// percent finds the other quotes of perl and ruby at a position: qx(…), %x(…), %w[…], q{…}.
func percent(code string, i int, lang string) (from, end int, kind byte, ok bool) {
	if lang != "perl" && lang != "ruby" || i > 0 && (isLetter(code[i-1]) || code[i-1] == '$' || code[i-1] == '@') {
		return 0, 0, 0, false
	}
	n := 0
	for _, prefix := range []string{"qx", "qw", "qq", "q", "%x", "%w", "%W", "%q", "%Q", "%I"} {
		if strings.HasPrefix(code[i:], prefix) && (prefix[0] == '%') == (lang == "ruby") {
			n, kind = len(prefix), prefix[len(prefix)-1]
			break
		}
	}
	if n == 0 {
		return 0, 0, 0, false
	}
	for i+n < len(code) && code[i+n] == ' ' && lang == "perl" {
		n++
	}
	if i+n >= len(code) || strings.IndexByte("([{</|!~", code[i+n]) < 0 {
		return 0, 0, 0, false
	}
	closing := code[i+n]
	if at := strings.IndexByte("([{<", closing); at >= 0 {
		closing = ")]}>"[at]
	}
	size := strings.IndexByte(code[i+n+1:], closing)
	if size < 0 {
		return 0, 0, 0, false
	}
	return i + n + 1, i + n + 1 + size, kind, true
}

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// maxCode bounds code in code.
const maxCode = 3

// code judges code of another language: whether it starts a blocked command, or changes a path outside.
func (c *call) code(lang, code string) {
	if vague(code) && strings.TrimSpace(strings.ReplaceAll(code, unknown, "")) == "" {
		c.j.blocks(RuleUnknown, "%s would run code that cannot be evaluated. Save it to a file and read that first.",
			c.name)
		return
	}
	if c.j.coding >= maxCode || !c.j.enter() {
		return
	}
	defer c.j.leave()
	c.j.coding++
	defer func() { c.j.coding-- }()
	code = plain(withoutMarks(strings.ReplaceAll(code, unknown, ""), ""))
	found := literals(code, lang)
	texts := c.texts(code, found)
	whole := code + " " + strings.Join(texts, " ")
	if lang == "expect" || lang == "tclsh" || lang == "m4" || lang == "other" || lang == "R" {
		c.words(code)
	}
	for _, l := range found {
		if l.runs {
			c.guess(l.text)
		}
	}
	opens := slices.ContainsFunc(texts, func(s string) bool {
		return strings.HasPrefix(strings.TrimSpace(s), "|") || strings.HasSuffix(strings.TrimSpace(s), "|")
	})
	if startsCommands(whole) || opens && (lang == "perl" || lang == "ruby") {
		for _, text := range texts {
			c.guess(text)
		}
	}
	if strings.Contains(whole, "eval") || strings.Contains(whole, "exec") || strings.Contains(whole, "compile") ||
		strings.Contains(whole, "Function") {
		for _, text := range texts {
			if len(text) > 8 && len(text) < len(code) {
				c.code(lang, text)
			}
		}
	}
	c.calls(code, found)
}

// texts are the texts that a command may be made of: each literal, what + and . join, lists, and what is decoded.
func (c *call) texts(code string, found []literalText) (texts []string) {
	decodes := strings.Contains(code, "64") || strings.Contains(code, "hex") || strings.Contains(code, "atob") ||
		strings.Contains(code, "pack") || strings.Contains(code, "Buffer")
	turns := strings.Contains(code, "::-1") || strings.Contains(code, "reverse") || strings.Contains(code, "strrev")
	if len(found) > 200 {
		found = found[:200]
	}
	for i, l := range found {
		texts = append(texts, l.text)
		if decodes {
			if b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(l.text, "=")); err == nil && len(b) > 2 {
				texts = append(texts, withoutMarks(string(b), ""))
			}
			if b, err := hex.DecodeString(l.text); err == nil && len(b) > 1 {
				texts = append(texts, withoutMarks(string(b), ""))
			}
		}
		if turns {
			texts = append(texts, reversed(l.text))
		}
		if i+1 < len(found) {
			for _, slot := range []string{"%s", "{}", "{0}"} {
				if strings.Contains(l.text, slot) {
					texts = append(texts, strings.ReplaceAll(l.text, slot, found[i+1].text))
				}
			}
		}
		joined, list, end := l.text, l.text, l.to
		for _, next := range found[i+1:] {
			between := strings.TrimSpace(code[min(end, next.from):next.from])
			comma := strings.Trim(between, " \t\n,") == "" && strings.Contains(between, ",")
			if !comma && between != "" && between != "+" && between != "." && between != ".." && between != "~" &&
				between != "," && between != ", [" && between != ",[" && between != "', '" {
				break
			}
			if strings.HasSuffix(between, "[") || comma {
				list += " " + next.text
				joined += next.text
			} else {
				joined += next.text
				list += next.text
			}
			end = next.to
			texts = append(texts, joined, list)
			if len(texts) > 600 {
				return texts
			}
		}
	}
	return texts
}

// startsCommands reports whether code can start programs.
func startsCommands(code string) bool {
	for _, word := range []string{
		"system", "popen", "Popen", "subprocess", "exec", "spawn", "child_process", "passthru", "proc_open",
		"os.execute",
		"io.popen", "open3", "Open3", "pty.", "Deno.run", "Deno.Command", "Bun.$", "pexpect", "IO.popen", "shell",
		"call-process", "start-process", "ProcessBuilder", "Runtime", "startfile", "pipe", "commands.getoutput",
		"run(", "fork", "posix", "ctypes",
	} {
		if strings.Contains(code, word) {
			return true
		}
	}
	return false
}

// guess judges a text that may be a command: only what is surely forbidden counts.
func (c *call) guess(text string) {
	if c.j.verdict != nil || strings.TrimSpace(text) == "" {
		return
	}
	for _, one := range []string{text, strings.TrimLeft(strings.TrimSpace(text), "|>!"), strings.TrimRight(text,
		"| ")} {
		c.j.text(c.e.child(), one, &input{text: unknown, inherited: true})
		if v := c.j.verdict; v != nil && (v.Rule == RuleUnknown || v.Rule == RuleSyntax) &&
			c.j.steps <= maxSteps && c.j.bytes <= maxBytes {
			c.j.verdict = nil
		}
		if one == text && strings.TrimLeft(strings.TrimSpace(text), "|>!") == text {
			return
		}
	}
}

// words judges the words of a language whose commands have no quotes: spawn rm -rf /.
func (c *call) words(code string) {
	for line := range strings.SplitSeq(strings.NewReplacer(";", "\n", "[", "\n", "]", "\n", "(", "\n", ")",
		"\n").Replace(code), "\n") {
		fields := strings.Fields(line)
		for i, field := range fields {
			switch field {
			case "spawn", "exec", "system", "syscmd", "esyscmd":
				c.guess(strings.Join(fields[i+1:], " "))
			}
		}
		if len(fields) > 0 {
			c.guess(strings.Join(fields, " "))
		}
	}
}

// calls judges calls of functions that change files, by the texts behind or before them.
func (c *call) calls(code string, found []literalText) {
	expands := strings.Contains(code, "expanduser") || strings.Contains(code, "expand_path") || strings.Contains(code,
		"HOME")
	for i, l := range found[:min(len(found), maxFields)] {
		name := calledBefore(code, l.from)
		next := ""
		if i+1 < len(found) && strings.Trim(code[min(l.to, found[i+1].from):found[i+1].from], " ,\n\tmode=ncig") == "" {
			next = found[i+1].text
		}
		text := l.text
		if strings.HasPrefix(text, "~") && expands {
			home, _ := c.e.value("HOME")
			text = home + text[1:]
		}
		method := methodAfter(code, l.to)
		switch {
		case removes(name), method != "" && removes(method):
			c.codeChanges(text, deletes)
		case name == "rename" || name == "renameSync" || name == "replace" && strings.Contains(text, "/"):
			c.codeChanges(text, moves)
			c.codeChanges(next, moves)
		case name == "move" || name == "mv" || strings.HasPrefix(name, "copy") || name == "cp" || name == "cpSync":
			if strings.HasPrefix(name, "m") {
				c.codeChanges(text, moves)
			}
			c.codeChanges(next, writes)
		case name == "symlink" || name == "symlinkSync" || name == "ln_s" || name == "linkSync" || name == "link":
			if next != "" {
				c.j.link(c.e, c.name, next, text, true)
			}
		case alterations(name), method != "" && alterations(method):
			c.codeChanges(text, alters)
		case writesFile(name), method != "" && writesFile(method):
			c.codeChanges(text, writes)
		case name == "open" || name == "fopen" || name == "openSync" || name == "File.open" ||
			name == "createWriteStream" ||
			method == "open":
			if name == "createWriteStream" || method != "open" && opensForWriting(next) {
				c.codeChanges(text, writes)
			}
		}
		if mode := strings.TrimSpace(l.text); mode == ">" || mode == ">>" || mode == "+<" {
			c.codeChanges(next, writes)
		} else if file, ok := strings.CutPrefix(mode, ">"); ok && (name == "open" || name == "") &&
			strings.Contains(code, "open") {
			c.codeChanges(strings.TrimLeft(file, "> "), writes)
		}
		if c.j.verdict != nil {
			return
		}
	}
}

func opensForWriting(mode string) bool {
	return mode != "" && len(mode) < 6 && strings.ContainsAny(mode, "wax+") && strings.Trim(mode, "wax+rbtUsn") == ""
}

// codeChanges judges a change that code makes.
func (c *call) codeChanges(p string, how act) {
	if p != "" && !strings.ContainsAny(p, "\n{}$") {
		c.j.change(c.e, c.name, p, how)
	}
}

func removes(name string) bool {
	return slices.Contains([]string{
		"rmtree", "rmSync", "rm", "rm_rf", "rm_r", "rm_f", "rimraf", "rimrafSync", "removeSync", "unlink",
		"unlinkSync", "remove",
		"rmdir", "rmdirSync", "delete", "remove_tree", "removedirs", "remove_dir", "remove_entry_secure",
		"remove_entry",
		"emptyDir", "emptyDirSync", "deltree", "remove_file", "unlinkr", "delete_directory", "del",
	}, name)
}

func alterations(name string) bool {
	switch name {
	case "chmod", "chown", "chmodSync", "chownSync", "chmod_R", "chown_R", "lchown", "utime", "utimes":
		return true
	}
	return false
}

func writesFile(name string) bool {
	switch name {
	case "writeFileSync", "writeFile", "appendFileSync", "appendFile", "file_put_contents", "write", "binwrite",
		"makedirs",
		"mkdir", "mkdirSync", "mkdir_p", "mkpath", "make_path", "truncateSync", "truncate", "touch", "write_text",
		"write_bytes",
		"outputFileSync", "writeTextFile", "writeTextFileSync", "mkfifo", "mknod":
		return true
	}
	return false
}

// maxBefore is how far before a text its function is looked for.
const maxBefore = 300

// calledBefore returns the function that a text is the first argument of.
func calledBefore(code string, at int) string {
	code = code[max(0, at-maxBefore):at]
	at = len(code)
	before := strings.TrimRight(code[:at], " \t\n([{rbuf")
	if i := strings.LastIndexByte(code[:at], '('); i >= 0 && strings.Trim(code[i+1:at], " \t\nrbuf[") == "" {
		before = strings.TrimRight(code[:i], " ")
	} else if at > 0 && len(before) == at {
		return ""
	} else {
		before = strings.TrimRight(code[:at], " \t\n")
	}
	from := len(before)
	for from > 0 && isLetter(before[from-1]) {
		from--
	}
	name := before[from:]
	if name == "Path" || name == "PosixPath" || name == "expanduser" || name == "resolve" || name == "join" ||
		name == "expand_path" ||
		name == "str" {
		// the path is made before it is used: shutil.rmtree(Path("/"))
		outer := strings.TrimRight(before[:from], " .ospathPl")
		if strings.HasSuffix(outer, "(") && from > 1 {
			return lastName(outer)
		}
	}
	return name
}

// lastName returns the name at the end of a text.
func lastName(before string) string {
	before = strings.TrimRight(before, "( ")
	from := len(before)
	for from > 0 && isLetter(before[from-1]) {
		from--
	}
	return before[from:]
}

// methodAfter returns the method that is called on a path that is made of a text: Path("/etc/x").unlink().
func methodAfter(code string, at int) string {
	rest, ok := strings.CutPrefix(strings.TrimLeft(code[at:], " "), ")")
	if !ok {
		return ""
	}
	rest, ok = strings.CutPrefix(rest, ".")
	if !ok {
		return ""
	}
	end := 0
	for end < len(rest) && isLetter(rest[end]) {
		end++
	}
	return rest[:end]
}
