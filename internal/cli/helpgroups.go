package cli

import "github.com/spf13/cobra"

// helpGroups are the groups of the commands in maestro's help, with their commands in order of use.
var helpGroups = []struct {
	id, title string
	commands  []string
}{
	{"people", "For people:", []string{
		"inbox", "input", "project", "plan", "task", "queue", "session", "watch", "since", "why", "events", "text",
		"status", "template", "skill", "runner", "token", "webhook",
	}},
	{"agents", "For agents:", []string{
		"whoami", "commands", "report", "track-file", "worker", "orchestrator", "manifest", "sandbox", "mcp",
	}},
	{"log", "The log:", []string{"audit", "backup", "restore", "import", "salvage"}},
	{"server", "The server:", []string{
		"serve", "open", "login", "doctor", "clock", "demo", "bench", "man", "version",
	}},
}

// groupCommands sorts the top-level commands into groups.
func groupCommands(root *cobra.Command) {
	in := map[string]string{}
	for _, group := range helpGroups {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, name := range group.commands {
			in[name] = group.id
		}
	}
	for _, cmd := range root.Commands() {
		cmd.GroupID = in[cmd.Name()]
	}
}

// helpKnown makes the help command and --help fail for an unknown command; cobra would show the help of another one.
// It returns where the error of --help is, once the root has run.
func helpKnown(root *cobra.Command) *error {
	unknown := new(error)
	page := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if words := cmd.Flags().Args(); len(words) > 0 && cmd.HasSubCommands() {
			*unknown = unknownVerb(cmd, words[0])
			return
		}
		page(cmd, args)
	})
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil || help.Name() != "help" {
		return unknown
	}
	help.Example = indented("maestro help task create")
	show := help.Run
	help.Run = nil
	help.RunE = func(cmd *cobra.Command, args []string) error {
		found, rest, err := cmd.Root().Find(args)
		if err == nil && len(rest) > 0 {
			return unknownVerb(found, rest[0])
		}
		if err == nil {
			show(cmd, args)
		}
		return err
	}
	return unknown
}

// aliases are alternative names of verbs, known from the shell and gh.
var aliases = map[string][]string{
	"list":   {"ls"},
	"delete": {"rm"},
	"get":    {"show"},
	"info":   {"show"},
}

// alias adds the aliases of the verbs in groups, unless a verb of the group has one of them.
func alias(root *cobra.Command) {
	for _, noun := range root.Commands() {
		taken := map[string]bool{}
		for _, verb := range noun.Commands() {
			taken[verb.Name()] = true
		}
		for _, verb := range noun.Commands() {
			for _, name := range aliases[verb.Name()] {
				if !taken[name] {
					verb.Aliases = append(verb.Aliases, name)
				}
			}
		}
	}
}
