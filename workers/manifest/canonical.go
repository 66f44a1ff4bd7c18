package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// indentedTo is how deep a manifest is written on lines of its own. What is deeper, in metadata and custom, stays on
// one, so that no nesting can blow a document up.
const indentedTo = 4

// Canonical returns the one form in which a manifest is written to a file: indented, its members in the order of the
// schema, what is empty and optional left out, a line feed at the end. Parse of it gives the same manifest. It panics
// if Metadata or Custom is no JSON, which cannot be after Parse or Generate.
func (m *Manifest) Canonical() []byte {
	compact := m.compact()
	indented := indent(compact)
	if len(indented) > MaxSize {
		return compact
	}
	return indented
}

// compact is the canonical form on one line, for what would be too large otherwise.
func (m *Manifest) compact() []byte {
	written := *m
	if written.Tasks == nil {
		written.Tasks = []Task{}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(&written); err != nil {
		panic("manifest: " + err.Error())
	}
	return b.Bytes()
}

// indent puts each member and item on a line of its own, down to a depth.
func indent(compact []byte) []byte {
	out := make([]byte, 0, len(compact)+len(compact)/2)
	depth := 0
	inText := false
	line := func() {
		out = append(out, '\n')
		for range depth {
			out = append(out, ' ', ' ')
		}
	}
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		if inText {
			out = append(out, c)
			switch c {
			case '\\':
				i++
				out = append(out, compact[i])
			case '"':
				inText = false
			}
			continue
		}
		switch c {
		case '{', '[':
			depth++
			out = append(out, c)
			if next := compact[i+1]; next != '}' && next != ']' && depth <= indentedTo {
				line()
			}
		case '}', ']':
			depth--
			if before := compact[i-1]; before != '{' && before != '[' && depth < indentedTo {
				line()
			}
			out = append(out, c)
		case ',':
			out = append(out, c)
			if depth <= indentedTo {
				line()
			}
		case ':':
			out = append(out, c)
			if depth <= indentedTo {
				out = append(out, ' ')
			}
		default:
			inText = c == '"'
			out = append(out, c)
		}
	}
	return out
}

// Digest names the bytes of a manifest, as Canonical gives them: "sha256-" and 64 hexadecimal digits.
func Digest(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return "sha256-" + hex.EncodeToString(sum[:])
}
