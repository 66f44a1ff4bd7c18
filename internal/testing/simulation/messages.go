package simulation

// correspondence is what runs with messages ask for beside the vocabulary.
var correspondence = []string{"session:message"}

// ofMessages writes to sessions, mostly along the line of who spawned whom, and receives what was written.
func (c composer) ofMessages() wish {
	if id, message, ok := c.mail(); ok && c.chance(40) {
		by := caller{kind: "session", name: id, project: c.m.sessions[id].Project}
		if c.chance(15) {
			by = c.caller()
		}
		return wish{by: by, id: "input:received", fields: fields{InputID: message}}
	}
	return c.wish(c.caller(), correspondence[0])
}

// ofMessage draws whom a caller writes to, and what.
func (c composer) ofMessage(f *fields, by caller) {
	f.Project = ""
	f.SessionID, f.Text = c.session(), pick(c, []string{"Use the other branch", "Done?", "Done?", " "})
	if id, ok := c.relative(by); ok && c.chance(70) {
		f.SessionID = id
	}
	if by.kind == "session" && c.chance(25) {
		f.SessionID = ""
	}
	if c.chance(30) {
		f.About = c.taskOf(by)
	}
}

// mail gives a message that a session was not shown yet.
func (c composer) mail() (session, message string, ok bool) {
	var have []string
	for _, id := range c.m.sessionIDs {
		if len(c.m.sessions[id].Mail) > 0 {
			have = append(have, id)
		}
	}
	if len(have) == 0 {
		return "", "", false
	}
	session = pick(c, have)
	return session, pick(c, c.m.sessions[session].Mail), true
}
