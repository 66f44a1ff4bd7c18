package simulation

import (
	"strings"
)

// beginnings are the commands with which a session starts with its manifest.
var beginnings = []string{"worker:init", "orchestrator:init"}

// begin draws a session that starts with its manifest, or a command that reissues a manifest.
func (c composer) begin() wish {
	by := c.caller()
	if id, ok := c.waiting(); ok && c.chance(70) {
		by = caller{kind: "session", name: id, project: c.m.sessions[id].Project}
	}
	if c.chance(25) {
		return c.wish(admin, "session:update")
	}
	id := pick(c, beginnings)
	if x, ok := c.m.liveSession(by.name); ok && by.kind == "session" && c.chance(85) {
		id = x.Role + ":init"
	}
	return c.wish(by, id)
}

// waiting draws a living session that has a manifest.
func (c composer) waiting() (string, bool) {
	var there []string
	for _, id := range c.m.sessionIDs {
		if x, live := c.m.liveSession(id); live && !x.Ended && x.Manifest != "" {
			there = append(there, id)
		}
	}
	if len(there) == 0 {
		return "", false
	}
	return pick(c, there), true
}

// manifest draws a digest, valid or not.
func (c composer) manifest() *string {
	good := func(digit string) string { return "sha256-" + strings.Repeat(digit, 64) }
	return ptr(
		pick(
			c,
			[]string{
				good("1"),
				good("1"),
				good("2"),
				good("2"),
				good("3"),
				good("a"),
				"",
				"sha256-1",
				good("A"),
				"sha512-" + good("1")[7:],
			},
		),
	)
}

// manifestOf draws a session's digest, mostly, or another.
func (c composer) manifestOf(session string) *string {
	x := c.m.sessions[session]
	switch {
	case c.chance(70) && x.Manifest != "":
		return ptr(x.Manifest)
	case c.chance(15):
		return nil
	}
	return c.manifest()
}
