package commands

import (
	"cmp"
	"strings"

	"maestro/events"
	"maestro/internal/safetext"
	"maestro/projections"
)

// Inherited returns the spawn with the options of the session that spawns it, where it gives none. A stored manifest
// says all options itself, and a user's spawn has those that it says.
func (x *SpawnSession) Inherited(s *projections.State, by Actor) *SpawnSession {
	spawner := s.Session(by.Name)
	if by.Kind != ActorSession || spawner == nil || x.ManifestDigest != "" || x.Stated != nil {
		return x
	}
	narrow := InheritedOptions(spawner, cmp.Or(x.project(s, by), spawner.ProjectID))
	if optionsOr(x.AgentOptions, narrow) == x.AgentOptions {
		return x
	}
	return x.WithOptions("", "", nil, 0, narrow)
}

// InheritedOptions returns the options that a session has in a project, if the session that spawns it gives none.
func InheritedOptions(spawner *projections.Session, project string) events.AgentOptions {
	has := optionsOf(spawner)
	narrow := events.AgentOptions{PermissionMode: has.PermissionMode, Network: has.Network}
	if project == spawner.ProjectID {
		narrow.WorkingDirectory = has.WorkingDirectory
	}
	return narrow
}

func optionsOf(x *projections.Session) events.AgentOptions {
	if x.Options == nil {
		return events.AgentOptions{}
	}
	return *x.Options
}

// withinOwn refuses to give a session options that let its agent do more than that of the calling session. A user may
// give any.
func withinOwn(s *projections.State, c Call, command, project string, given *events.AgentOptions) error {
	spawner := s.Session(c.By.Name)
	if !seventhOn(c.Rules) || c.By.Kind != ActorSession || spawner == nil {
		return nil
	}
	own, child := optionsOf(spawner), events.AgentOptions{}
	if given != nil {
		child = *given
	}
	dir, ownDir := s.DirectoryOf(project, &child), s.DirectoryOf(spawner.ProjectID, &own)
	for _, option := range []struct {
		pointer, name, value, own string
		within                    bool
	}{
		{
			"/permissionMode", "permission mode",
			cmp.Or(child.PermissionMode, modeEdits),
			cmp.Or(own.PermissionMode, modeEdits),
			modeRank(child.PermissionMode) <= modeRank(own.PermissionMode),
		},
		{
			"/network", "network",
			cmp.Or(child.Network, networkOpen),
			cmp.Or(own.Network, networkOpen),
			networkWithin(child.Network, own.Network),
		},
		{
			"/workingDirectory", "working directory",
			cmp.Or(dir, ownWorkspace),
			cmp.Or(ownDir, ownWorkspace),
			dir == "" || ownDir != "" && projections.IsBelow(dir, ownDir),
		},
	} {
		if option.within {
			continue
		}
		refusal := notAllowed(command, "its own "+option.name+" is "+safetext.Printable(option.own)+
			", and it may give no more than that", "choose a narrower one, or ask the user to do it",
			"Session '%s' may not give another session the %s %s", spawner.ID, option.name,
			safetext.Printable(option.value))
		refusal.Pointer = option.pointer
		return refusal
	}
	return nil
}

// The options that stand for no restriction, and the directory of a session whose project has none.
const (
	modeEdits    = "acceptEdits"
	networkOpen  = "open"
	ownWorkspace = "only its workspace"
)

// modeRank orders the permission modes by what they let an agent do without asking. An unknown one counts as the most.
func modeRank(mode string) int {
	switch mode {
	case "readOnly":
		return 0
	case "interactive":
		return 1
	}
	return 2
}

// networkWithin reports whether one restriction of the network allows nothing that the other does not.
func networkWithin(network, other string) bool {
	switch {
	case other == "" || other == networkOpen || network == "none" || network == other:
		return true
	case network == "" || network == networkOpen || other == "none":
		return false
	}
	ports := map[string]bool{}
	for port := range strings.SplitSeq(other, ",") {
		ports[port] = true
	}
	for port := range strings.SplitSeq(network, ",") {
		if !ports[port] {
			return false
		}
	}
	return true
}
