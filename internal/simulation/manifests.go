package simulation

import (
	"fmt"
	"regexp"
	"strings"
)

// beginnings are the commands with which a session begins with its manifest.
var beginnings = []string{"worker:init", "orchestrator:init"}

var digest = regexp.MustCompile(`^sha256-[0-9a-f]{64}$`)

// badDigest reports whether a text names no blob; "" names none, which is well.
func badDigest(text string) bool { return text != "" && !digest.MatchString(text) }

func (f fields) manifest() string {
	if f.Manifest == nil {
		return ""
	}
	return *f.Manifest
}

// judgeBegin judges a session that begins: only itself, alive, in its own role, and with the manifest that it was given last.
func judgeBegin(w wish, x session, own bool) verdict {
	given := w.fields.manifest()
	switch {
	case !own:
		return notAllowed
	case given == "" || badDigest(given):
		return isInvalid
	case x.ended || w.id != x.role+":init":
		return notAllowed
	case x.manifest == "":
		return againstRule
	case x.manifest != given:
		return isConflict
	case x.status == "running" || x.status == "completed":
		return alreadySo
	}
	return becomesEvent
}

// begin makes a session that has begun a running one; its event says with what and as what.
func (m *model) begin(id string, w wish, d made) error {
	if x := m.sessions[id]; d.Manifest != x.manifest || d.Role+":init" != w.id || d.SessionID != id || d.Created != nil {
		return fmt.Errorf("%s of session %s became the beginning of %q as %q with %q", w.id, id, d.SessionID, d.Role, d.Manifest)
	}
	m.moveSession(id, "running")
	return nil
}

// begin is what a run with manifests asks now and then: a session that begins, or one whose manifest is issued again.
func (c composer) begin() wish {
	by := c.caller()
	if id, ok := c.waiting(); ok && c.chance(70) {
		by = caller{kind: "session", name: id, project: c.m.sessions[id].project}
	}
	if c.chance(25) {
		return c.wish(admin, "session:update")
	}
	id := pick(c, beginnings)
	if x, ok := c.m.liveSession(by.name); ok && by.kind == "session" && c.chance(85) {
		id = x.role + ":init"
	}
	return c.wish(by, id)
}

// waiting gives a session that has a manifest and is there.
func (c composer) waiting() (string, bool) {
	var there []string
	for _, id := range c.m.sessionIDs {
		if x, live := c.m.liveSession(id); live && !x.ended && x.manifest != "" {
			there = append(there, id)
		}
	}
	if len(there) == 0 {
		return "", false
	}
	return pick(c, there), true
}

// manifest gives a digest, good or bad.
func (c composer) manifest() *string {
	good := func(digit string) string { return "sha256-" + strings.Repeat(digit, 64) }
	return ptr(pick(c, []string{good("1"), good("1"), good("2"), good("2"), good("3"), good("a"), "", "sha256-1", good("A"), "sha512-" + good("1")[7:]}))
}

// manifestOf gives a session's digest, mostly, or another.
func (c composer) manifestOf(session string) *string {
	x := c.m.sessions[session]
	switch {
	case c.chance(70) && x.manifest != "":
		return ptr(x.manifest)
	case c.chance(15):
		return nil
	}
	return c.manifest()
}
