package sandbox

import (
	"path"
	"slices"
	"strings"
)

// find judges find and its relatives: what they delete, write and run.
func (c *call) find() bool {
	switch c.name {
	case "find", "gfind", "bfs":
		c.findTree()
	case "fd", "fdfind":
		c.fd()
	case "xargs", "gxargs":
		c.xargs()
	case "parallel":
		c.parallel()
	default:
		return false
	}
	return true
}

func (c *call) findTree() {
	args := c.args
	for len(args) > 0 && (args[0] == "-H" || args[0] == "-L" || args[0] == "-P" || strings.HasPrefix(args[0], "-O")) {
		args = args[1:]
	}
	n := 0
	for n < len(args) && !strings.HasPrefix(args[n], "-") && args[n] != "!" && args[n] != "(" {
		n++
	}
	starts, expression := args[:n], args[n:]
	if len(starts) == 0 {
		starts = []string{"."}
	}
	if i := slices.Index(expression, "-files0-from"); i >= 0 {
		starts = append(starts, unknown)
	}
	found := make([]string, 0, len(starts))
	for _, start := range starts {
		found = append(found, start+"/"+string([]byte{markAny}))
	}
	narrow := leavesOutStart(starts, expression)
	for i := 0; i < len(expression); i++ {
		switch arg := expression[i]; arg {
		case "-delete":
			for _, p := range found {
				c.j.change(c.e, "find -delete", p, deletes)
			}
			if !narrow {
				for _, start := range starts {
					c.j.change(c.e, "find -delete", start, deletes)
				}
			}
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if i+1 < len(expression) {
				c.all(expression[i+1:i+2], writes)
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(expression) && expression[end] != ";" &&
				(expression[end] != "+" || end == i+1 || expression[end-1] != "{}") {
				end++
			}
			c.runFound(expression[i+1:end], starts, found, narrow, strings.HasSuffix(arg, "dir"))
			i = end
		}
	}
}

// leavesOutStart reports whether find acts only on what is below its starting points.
func leavesOutStart(starts, expression []string) bool {
	for i, arg := range expression[:max(0, len(expression)-1)] {
		switch next := expression[i+1]; arg {
		case "-mindepth":
			return next != "0"
		case "-type", "-xtype":
			if !strings.Contains(next, "d") {
				return true
			}
		case "-path", "-ipath", "-wholename", "-regex", "-iregex":
			return true
		case "-name", "-iname":
			pattern := active(next)
			if !slices.ContainsFunc(starts, func(s string) bool { return matches(pattern, path.Base(s)) }) {
				return true
			}
		}
	}
	return false
}

// runFound judges the command that find runs for what it finds.
func (c *call) runFound(words, starts, found []string, narrow, inDir bool) {
	if !narrow {
		found = slices.Concat(found, starts)
	}
	for _, p := range found {
		e := c.e
		if inDir {
			e = c.e.clone()
			e.dirs = c.e.absolutes(strings.TrimSuffix(p, "/"+string([]byte{markAny})))
			p = "./" + string([]byte{markAny})
		}
		replaced := make([]string, 0, len(words))
		for _, word := range words {
			replaced = append(replaced, strings.ReplaceAll(word, "{}", p))
		}
		of := &call{
			j:    c.j,
			e:    e,
			name: c.name,
			in:   c.in,
		}
		of.exec(replaced)
		if c.j.verdict != nil {
			return
		}
	}
}

func (c *call) fd() {
	i := slices.IndexFunc(c.args, func(arg string) bool {
		return arg == "-x" || arg == "-X" || arg == "--exec" || arg == "--exec-batch"
	})
	if i < 0 {
		return
	}
	p := parse(c.args[:i], takes{
		short: "edtEcjS",
		long:  "extension max-depth type exclude base-directory search-path",
	}, false)
	starts := append(p.all("base-directory", "search-path"), p.operands[min(1, len(p.operands)):]...)
	if len(starts) == 0 {
		starts = []string{"."}
	}
	words := slices.DeleteFunc(slices.Clone(c.args[i+1:]), func(arg string) bool { return arg == ";" })
	if !strings.Contains(strings.Join(words, " "), "{") {
		words = append(words, "{}")
	}
	for _, start := range starts {
		c.runFound(words, nil, []string{start + "/" + string([]byte{markAny})}, true, false)
	}
}

// findOutput is what find prints, for xargs: each path ends with a zero byte, so that it is one word.
func (c *call) findOutput() string {
	if !slices.Contains(c.args, "-print0") {
		return unknown
	}
	var b strings.Builder
	n := 0
	for _, arg := range c.args {
		if strings.HasPrefix(arg, "-") || arg == "!" || arg == "(" {
			break
		}
		b.WriteString(arg + "/" + string([]byte{markAny, 0}))
		n++
	}
	if n == 0 {
		return "./" + string([]byte{markAny, 0})
	}
	return b.String()
}

func (c *call) xargs() {
	p := parse(c.args, takes{
		short: "I+i+l+eLnPsdEa",
		long:  "replace+ max-lines+ max-args max-procs max-chars delimiter eof+ arg-file process-slot-var max-args",
	}, true)
	p2 := parse(c.args, takes{short: "IJRS+i+l+eLnPsdEa", long: "arg-file max-args max-procs max-chars delimiter"},
		true)
	if p2.has("I") {
		p = p2
	}
	words := p.operands
	if len(words) == 0 {
		return
	}
	text := c.in.text
	if p.has("a", "arg-file") {
		text = unknown
	}
	var values []string
	switch {
	case vague(text):
		values = []string{unknown}
	case p.has("0", "null"):
		values = strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
	case p.has("d", "delimiter"):
		d, _ := p.last("d", "delimiter")
		values = strings.Split(strings.TrimSuffix(text, "\n"), escapes(d, true))
	case p.has("I", "i", "replace"):
		values = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	default:
		values = strings.Fields(strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(text))
	}
	if len(values) > maxFields {
		c.j.tooMany()
		return
	}
	mark, replaces := p.last("I", "i", "replace", "J")
	if mark == "" {
		mark = "{}"
	}
	if !replaces {
		c.exec(slices.Concat(words, values))
		return
	}
	for _, value := range values {
		replaced := make([]string, 0, len(words))
		for _, word := range words {
			replaced = append(replaced, strings.ReplaceAll(word, mark, strings.TrimSpace(value)))
		}
		c.exec(replaced)
		if c.j.verdict != nil {
			return
		}
	}
}

func (c *call) parallel() {
	p := parse(c.args, takes{
		short: "jSINnLadPCE",
		long: "jobs sshlogin max-args arg-file delay timeout joblog results colsep tmpdir tagstring workdir retries " +
			"load memfree delimiter env basefile return halt",
	}, true)
	c.all(p.all("joblog", "results", "tmpdir"), writes)
	words := p.operands
	var values []string
	if i := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, ":::") }); i >= 0 {
		values = slices.DeleteFunc(slices.Clone(words[i:]), func(word string) bool {
			return strings.HasPrefix(word,
				":::")
		})
		if strings.HasPrefix(words[i], "::::") {
			values = []string{unknown}
		}
		words = words[:i]
	} else if vague(c.in.text) {
		values = []string{unknown}
	} else {
		values = strings.Split(strings.TrimSuffix(c.in.text, "\n"), "\n")
	}
	text := strings.Join(words, " ")
	for _, value := range values {
		switch {
		case text == "":
			c.text(value)
		case strings.Contains(text, "{"):
			one := text
			for _, mark := range []string{"{}", "{.}", "{/}", "{//}", "{/.}", "{1}", "{2}"} {
				one = strings.ReplaceAll(one, mark, quotedValue(value))
			}
			c.text(one)
		default:
			c.text(text + " " + quotedValue(value))
		}
		if c.j.verdict != nil {
			return
		}
	}
}

// quotedValue quotes a value, unless it cannot be evaluated anyway.
func quotedValue(s string) string {
	if vague(s) {
		return s
	}
	return quoted(s)
}
