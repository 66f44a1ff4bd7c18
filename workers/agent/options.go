package agent

// readOnly reports whether the agent may only read.
func (l *Launch) readOnly() bool { return l.Options.PermissionMode == "readOnly" }

// interactive reports whether a person decides about each call that needs permission.
func (l *Launch) interactive() bool { return l.Options.PermissionMode == "interactive" }

// unthinking reports whether the model is not to think before it answers. Otherwise the CLIs choose.
func (l *Launch) unthinking() bool { return l.Options.ThinkingMode == "disabled" }

// turns returns how many turns the agent may take, 0 for any number.
func (l *Launch) turns() int { return max(l.Options.MaxTurns, 0) }
