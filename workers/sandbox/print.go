package sandbox

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// printed returns what a command prints that only prints, or decodes, text.
func (c *call) printed() (out string, ok bool) {
	switch c.name {
	case "echo":
		return c.echo(), true
	case "printf":
		return c.printf(), true
	case "pwd":
		return c.e.dir() + "\n", true
	case "dirname", "basename":
		return c.nameOf(), true
	case "cat", "tac":
		return c.cat(), true
	case "rev":
		return lineByLine(c.content(parse(c.args, takes{}, false)), reversed), true
	case "tr":
		return c.tr(), true
	case "sort", "uniq", "tail", "head", "fold", "expand", "column", "nl":
		return "", false
	case "base64", "base32", "basenc":
		return c.base(), true
	case "xxd":
		return c.xxd(), true
	case "openssl":
		return c.openssl()
	case "gunzip", "zcat", "gzcat", "bunzip2", "bzcat", "gzip", "bzip2":
		return c.inflate()
	case "seq":
		return c.seq(), true
	case "date", "id", "nproc", "wc", "hostname", "uname", "whoami", "uuidgen", "arch", "getconf", "tty", "logname":
		if c.name == "date" && parse(c.args, takes{short: "dfrs", long: "date file reference set"}, false).has("f") {
			return unknown, true
		}
		if c.name == "date" && strings.Contains(strings.Join(c.args, ""), "/") || c.name == "tty" {
			return unknown, true
		}
		return someName + "\n", true
	}
	return "", false
}

func (c *call) echo() string {
	args, decodes, newline := c.args, false, "\n"
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		decodes = decodes || strings.Contains(args[0], "e")
		if strings.Contains(args[0], "n") {
			newline = ""
		}
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if decodes {
		text = escapes(text, false)
	}
	return text + newline
}

func (c *call) printf() string {
	args := c.args
	variable := ""
	if len(args) > 1 && args[0] == "-v" {
		variable, args = args[1], args[2:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return ""
	}
	out := c.j.kept(formatted(args[0], args[1:]))
	if variable == "" {
		return out
	}
	c.j.assignText(c.e, variable+"="+out, false)
	return ""
}

// formatted is what printf prints.
func formatted(format string, args []string) string {
	if vague(format) {
		return unknown
	}
	format = escapes(format, false)
	var b strings.Builder
	for {
		used := false
		for i := 0; i < len(format); i++ {
			if format[i] != '%' || i+1 == len(format) {
				b.WriteByte(format[i])
				continue
			}
			if format[i+1] == '%' {
				b.WriteByte('%')
				i++
				continue
			}
			end := i + 1
			for end < len(format) && strings.IndexByte("0123456789.-+ #'*()", format[end]) >= 0 {
				end++
			}
			if end == len(format) {
				return unknown
			}
			arg := ""
			if len(args) > 0 {
				arg, args, used = args[0], args[1:], true
			}
			text, ok := conversion(format[i+1:end], format[end], arg)
			if !ok {
				return unknown
			}
			b.WriteString(text)
			i = end
		}
		if !used || len(args) == 0 || b.Len() > maxText {
			return b.String()
		}
	}
}

// conversion converts one argument of printf.
func conversion(flags string, verb byte, arg string) (string, bool) {
	switch verb {
	case 's', 'b', 'q':
		if verb == 'b' {
			arg = escapes(arg, false)
		}
		if verb == 'q' {
			arg = quoted(arg)
		}
		_, precise, ok := strings.Cut(flags, ".")
		if n, err := strconv.Atoi(precise); ok && err == nil && !marked(arg) {
			arg = arg[:min(max(n, 0), len(arg))]
		} else if flags != "" && (ok || strings.ContainsAny(flags, "*(")) {
			return "", false
		}
		return arg, true
	case 'c':
		return arg[:min(1, len(arg))], true
	case 'd', 'i', 'u':
		if n, err := strconv.ParseInt(arg, 0, 64); err == nil && flags == "" {
			return strconv.FormatInt(n, 10), true
		}
		return someName, !vague(arg)
	case 'x', 'X', 'o':
		n, err := strconv.ParseInt(arg, 0, 64)
		if err != nil || flags != "" {
			return someName, !vague(arg)
		}
		text := strconv.FormatInt(n, map[byte]int{'x': 16, 'X': 16, 'o': 8}[verb])
		if verb == 'X' {
			text = strings.ToUpper(text)
		}
		return text, true
	default:
		return "", false
	}
}

func (c *call) nameOf() string {
	p := parse(c.args, takes{short: "s", long: "suffix"}, false)
	if len(p.operands) == 0 || vague(p.operands[0]) {
		return unknown
	}
	if c.name == "dirname" {
		return path.Dir(strings.TrimRight(p.operands[0], "/")) + "\n"
	}
	suffix, _ := p.last("s", "suffix")
	if len(p.operands) > 1 {
		suffix = p.operands[1]
	}
	return strings.TrimSuffix(path.Base(p.operands[0]), suffix) + "\n"
}

// content returns what a filter reads: its files, or the input.
func (c *call) content(p parsed) string {
	if len(p.operands) == 0 {
		return c.in.text
	}
	var b strings.Builder
	for _, file := range p.operands {
		text, ok := c.fed(file)
		if !ok {
			text = unknown
		}
		b.WriteString(text)
		if b.Len() > maxText {
			break
		}
	}
	return c.j.kept(b.String())
}

func (c *call) cat() string {
	p := parse(c.args, takes{}, false)
	if slices.Contains(c.args, "-") && len(p.operands) == 0 {
		p.operands = []string{"-"}
	}
	text := c.content(p)
	if c.name == "tac" && !vague(text) {
		lines := strings.SplitAfter(text, "\n")
		slices.Reverse(lines)
		return strings.Join(lines, "")
	}
	if len(p.options) > 0 && !p.has("u", "s", "v") {
		return unknown
	}
	return text
}

func lineByLine(text string, change func(string) string) string {
	if vague(text) {
		return unknown
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = change(lines[i])
	}
	return strings.Join(lines, "\n")
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// decoded returns bytes as text.
func decoded(b []byte, err error) string {
	if err != nil || len(b) > maxText {
		return unknown
	}
	return withoutMarks(string(bytes.ReplaceAll(b, []byte{0}, nil)), unknown)
}

func (c *call) base() string {
	p := parse(c.args, takes{short: "w", long: "wrap"}, false)
	text := c.content(p)
	if vague(text) {
		return unknown
	}
	text = strings.Join(strings.Fields(plain(text)), "")
	is32 := c.name == "base32" || p.has("base32")
	if !p.has("d", "D", "decode") {
		if is32 {
			return base32.StdEncoding.EncodeToString([]byte(c.in.text)) + "\n"
		}
		if len(p.operands) > 0 {
			return unknown
		}
		return base64.StdEncoding.EncodeToString([]byte(plain(c.in.text))) + "\n"
	}
	switch {
	case p.has("base16"):
		return decoded(hex.DecodeString(text))
	case is32:
		return decoded(base32.StdEncoding.DecodeString(text))
	case p.has("base64url"):
		return decoded(base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "=")))
	default:
		return decoded(base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "=")))
	}
}

func (c *call) xxd() string {
	p := parse(c.args, takes{short: "cglos"}, false)
	if len(p.operands) > 1 {
		c.j.change(c.e, c.name, p.operands[1], writes)
	}
	p.operands = p.operands[:min(1, len(p.operands))]
	text := c.content(p)
	if vague(text) || !p.has("r", "revert") || !p.has("p", "ps", "plain", "postscript") {
		return unknown
	}
	return decoded(hex.DecodeString(strings.Join(strings.Fields(text), "")))
}

func (c *call) openssl() (string, bool) {
	single := slices.Clone(c.args)
	decodes := slices.Contains(single, "-d")
	if slices.Contains(single, "-out") || !decodes || len(single) == 0 || single[0] != "enc" && single[0] != "base64" ||
		slices.Contains(single, "-in") || vague(c.in.text) {
		return "", false
	}
	text := strings.Join(strings.Fields(c.in.text), "")
	return decoded(base64.StdEncoding.DecodeString(text)), true
}

func (c *call) inflate() (string, bool) {
	p := parse(c.args, takes{short: "S"}, false)
	if len(p.operands) > 0 {
		return "", false
	}
	if (c.name == "gzip" || c.name == "bzip2") && !p.has("d", "decompress", "uncompress") || vague(c.in.text) {
		return unknown, true
	}
	from := bzip2.NewReader(strings.NewReader(c.in.text))
	if !strings.HasPrefix(c.name, "b") {
		var err error
		if from, err = gzip.NewReader(strings.NewReader(c.in.text)); err != nil {
			return unknown, true
		}
	}
	return decoded(io.ReadAll(io.LimitReader(from, maxText+1))), true
}

func (c *call) seq() string {
	var ends []int
	for _, arg := range c.args {
		n, err := strconv.Atoi(arg)
		if err != nil {
			return someName + "\n"
		}
		ends = append(ends, n)
	}
	from, step, to := 1, 1, 0
	switch len(ends) {
	case 1:
		to = ends[0]
	case 2:
		from, to = ends[0], ends[1]
	case 3:
		from, step, to = ends[0], ends[1], ends[2]
	}
	if step == 0 || (to-from)/step > 64 {
		return someName + "\n"
	}
	var b strings.Builder
	for n := from; step > 0 && n <= to || step < 0 && n >= to; n += step {
		b.WriteString(itoa(n) + "\n")
	}
	return b.String()
}
