package blank

import "bytes"

// shape is a kind of token: a prefix, and characters after it.
type shape struct {
	prefix string
	least  int // how many characters at least
	may    func(byte) bool
}

// shapes are the tokens of model APIs, of code hosts and clouds, and of Maestro. A longer prefix is before its own
// prefix.
var shapes = []shape{
	{"sk-ant-", 16, name},
	{"sk-", 20, name},
	{"github_pat_", 20, word},
	{"ghp_", 20, word},
	{"gho_", 20, word},
	{"ghu_", 20, word},
	{"ghs_", 20, word},
	{"ghr_", 20, word},
	{"glpat-", 16, name},
	{"npm_", 30, word},
	{"hf_", 30, word},
	{"AKIA", 16, word},
	{"ASIA", 16, word},
	{"AIza", 30, name},
	{"ya29.", 20, dotted},
	{"1//0", 30, name},
	{"xoxb-", 10, name},
	{"xoxp-", 10, name},
	{"xoxa-", 10, name},
	{"xoxs-", 10, name},
	{"xapp-", 10, name},
	{maestro + "s_", 20, dotted},
	{maestro + "u_", 20, dotted},
	{maestro + "r_", 20, runner},
	{"mlc_", 8, name},
}

// maestro begins the tokens of sessions, users and runners, whose prefixes are constants of service/wire.
const maestro = "ms"

// firsts are the first bytes of tokens.
const firsts = "sgnhAy1xme"

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }
func word(c byte) bool   { return letter(c) || c == '_' }
func name(c byte) bool   { return word(c) || c == '-' }
func dotted(c byte) bool { return name(c) || c == '.' }
func runner(c byte) bool { return dotted(c) || c == '~' }

// run returns how many bytes at the beginning may be part of a token.
func run(text []byte, may func(byte) bool) (n int) {
	for n < len(text) && n < maxMatch/2 && may(text[n]) {
		n++
	}
	return n
}

// token returns the length of the token at the beginning, 0 if there is none.
func token(text []byte) int {
	for _, s := range shapes {
		if !bytes.HasPrefix(text, []byte(s.prefix)) {
			continue
		}
		if n := run(text[len(s.prefix):], s.may); n >= s.least {
			return len(s.prefix) + n
		}
		return 0
	}
	return webToken(text)
}

// webToken returns the length of a JSON web token: two objects in base64, and a signature.
func webToken(text []byte) int {
	const object = "eyJ"
	head := run(text, name)
	if !bytes.HasPrefix(text, []byte(object)) || head < 10 || !bytes.HasPrefix(text[head:], []byte("."+object)) {
		return 0
	}
	body := head + 1 + run(text[head+1:], name)
	if body < len(text) && text[body] == '.' {
		body += 1 + run(text[body+1:], name)
	}
	return min(body, maxMatch)
}

var (
	keyBegin = []byte("-----BEGIN ")
	keyKind  = []byte("PRIVATE KEY-----")
	keyEnd   = []byte("-----END ")
)

// privateKey returns the length of the part of a private key at the beginning that is in this line: up to its end, to
// the end of a JSON text, or to the end of the line.
func privateKey(text []byte) int {
	if !bytes.HasPrefix(text, keyBegin) {
		return 0
	}
	text = text[:min(len(text), maxMatch)]
	kind := bytes.Index(text[:min(len(text), 60)], keyKind)
	if kind < 0 {
		return 0
	}
	body := kind + len(keyKind)
	if end := bytes.Index(text[body:], keyEnd); end >= 0 {
		body += end + len(keyEnd)
		if kind := bytes.Index(text[body:min(len(text), body+60)], keyKind); kind >= 0 {
			return body + kind + len(keyKind)
		}
		return body
	}
	if end := bytes.IndexAny(text[body:], "\"\r\n"); end >= 0 {
		return body + end
	}
	return len(text)
}

// maxKeyLines bounds the lines of a private key.
const maxKeyLines = 300

// keyPart returns the length of the part of a line, without its end, that belongs to a private key that began in an
// earlier line, 0 if none did. It notices where one begins.
func (w *Writer) keyPart(text []byte, last bool) int {
	line := bytes.TrimSpace(text)
	switch {
	case beginsKey(line):
		w.key = 1
		return 0
	case w.key == 0:
		return 0
	case !last || w.key > maxKeyLines:
		w.key = 0
		return 0
	}
	w.key++
	if end := bytes.Index(text, keyEnd); end >= 0 {
		w.key = 0
		if kind := bytes.Index(text[end:], keyKind); kind >= 0 {
			return end + kind + len(keyKind)
		}
		return end + len(keyEnd)
	}
	if !keyLine(line) {
		w.key = 0
		return 0
	}
	return len(bytes.TrimRight(text, "\r\n"))
}

// beginsKey reports whether a private key begins in a line and does not end in it.
func beginsKey(line []byte) bool {
	begin := bytes.LastIndex(line, keyBegin)
	if begin < 0 {
		return false
	}
	_, rest, found := bytes.Cut(line[begin:], keyKind)
	return found && keyLine(rest)
}

// keyLine reports whether a line can be one of a private key: base64, a header, or an empty line.
func keyLine(line []byte) bool {
	if bytes.HasPrefix(line, []byte("Proc-Type: ")) || bytes.HasPrefix(line, []byte("DEK-Info: ")) {
		return true
	}
	base64 := func(c byte) bool { return letter(c) || c == '+' || c == '/' || c == '=' }
	return len(line) <= 80 && run(line, base64) == len(line)
}
