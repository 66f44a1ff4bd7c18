package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// indentedTo is the depth down to which a manifest is indented. What is deeper, in metadata and custom, stays on one
// line, so that nesting cannot inflate a document.
const indentedTo = 4

// Canonical returns the canonical form of a manifest in a file: indented, its members in the order of the schema,
// without empty optional members, with a line feed at the end. Parsing it gives the same manifest. It panics if
// Metadata or Custom is not JSON, which cannot happen after Parse or Generate.
func (m *Manifest) Canonical() []byte {
	compact := m.compact()
	indented := indent(compact)
	if len(indented) > MaxSize {
		return compact
	}
	return indented
}

// compact is the canonical form on one line, for manifests that would otherwise be too large.
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

// Digest returns the digest of a manifest's canonical bytes: "sha256-" and 64 hexadecimal digits.
func Digest(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return "sha256-" + hex.EncodeToString(sum[:])
}
