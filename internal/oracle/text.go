package oracle

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"maestro/internal/lazyregexp"
)

// aDigest is the form of the digest of a long text.
var aDigest = lazyregexp.New(`^sha256-[0-9a-f]{64}$`)

type textRedacted struct {
	Text   string `json:"text"`
	Reason string `json:"reason"`
}

func (f *textRedacted) about() (kind, id string) { return "text", f.Text }
func (f *textRedacted) commands() []string       { return []string{"audit:redact"} }

func (f *textRedacted) judge(c *trial) {
	switch {
	case !aDigest().MatchString(f.Text):
		c.fault(ruleText, "%q is not a digest", f.Text)
	case c.redacted[f.Text]:
		c.fault(ruleText, "the text %s was redacted before", f.Text)
	}
	if strings.TrimSpace(f.Reason) == "" || utf8.RuneCountInString(f.Reason) > 200 {
		c.fault(ruleText, "a redaction has a reason of at most 200 characters")
	}
}

// hasControl reports whether a text has control characters, such as a line break.
func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 })
}

// textsStay judges that an event names no text that was removed before.
func (c *trial) textsStay(data json.RawMessage) {
	if len(c.redacted) == 0 {
		return
	}
	var fields any
	if json.Unmarshal(data, &fields) != nil {
		return // it is reported elsewhere
	}
	for _, digest := range digestsIn(nil, "", fields) {
		if c.redacted[digest] {
			c.fault(ruleText, "it names the text %s, which was redacted", digest)
		}
	}
}

// digestsIn adds the digests of long texts in a payload: the values of a field blobs, and each field whose name is
// digest or ends in Digest.
func digestsIn(found []string, name string, value any) []string {
	switch v := value.(type) {
	case string:
		if name == "digest" || strings.HasSuffix(name, "Digest") {
			found = append(found, v)
		}
	case map[string]any:
		for key, inner := range v {
			if name == "blobs" {
				key = "digest"
			}
			found = digestsIn(found, key, inner)
		}
	}
	return found
}

func (f *textRedacted) fold(c *trial) { c.redacted[f.Text] = true }

func (a *asked) redactText() fact {
	switch {
	case !aDigest().MatchString(a.f.Text), strings.TrimSpace(a.f.Reason) == "", hasControl(a.f.Reason):
		return a.no(codeInvalid)
	case utf8.RuneCountInString(a.f.Reason) > 200:
		return a.no(codeInvalid)
	case a.redacted[a.f.Text]:
		return a.so()
	}
	return &textRedacted{Text: a.f.Text, Reason: a.f.Reason}
}
