package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/prompt"
)

// allowed is `maestro commands`.
type allowed struct {
	*Run
	cmd   *cobra.Command
	check string
}

func newCommands(a *Run) *cobra.Command {
	c := &allowed{Run: a}
	cmd := &cobra.Command{Use: "commands", Short: "List the commands that you may use, or check one", Args: Takes}
	cmd.RunE = Running(c.run)
	c.cmd = cmd
	cmd.Flags().StringVar(&c.check, "check", "",
		"say whether this command id is allowed, such as task:create; exit code 0 or 4")
	ValueName(cmd, "check", "<commandId>")
	return Tell(cmd, "commands", "check")
}

func (c *allowed) run(ctx context.Context, _ []string) error {
	if c.cmd.Flags().Changed("check") {
		return checkCommand(ctx, c.Run, c.check)
	}
	p, err := Look(ctx, c.Run, (*client.Client).AllowedCommands)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeBare(c.Run, p)
	}
	listCommands(c.Run, p)
	return nil
}

// writeBare writes the object of docs/spec/000-command-permissions.md, "JSON Output", in the form of that document.
func writeBare(a *Run, p wire.AllowedCommands) error {
	if a.format == "jsonl" {
		a.WriteJSON(p)
		return nil
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	a.answered = true
	a.write(append(safetext.EscapeJSON(text), '\n'))
	return nil
}

// listCommands prints the layout of docs/spec/000-command-permissions.md, "Checking Permissions".
func listCommands(a *Run, p wire.AllowedCommands) {
	a.Print("Session Role: %s\n", p.Role)
	if p.Strategy != "" {
		a.Print("Strategy: %s\n", p.Strategy)
	}
	a.Print("\nAvailable Commands:\n")
	root := a.Root()
	names, groups := grouped(prompt.Lines(p.Role != "user", p.AllowedCommands))
	for _, name := range names {
		a.Print("\n  %s:\n", name)
		for _, id := range groups[name] {
			a.Print("    - maestro %s\n", usageOf(root, id))
		}
	}
	a.Print("\nCommands that need no permission, such as `maestro version`, are listed by `maestro --help`.\n")
}

// grouped groups command ids by parent, in their order. Those without a parent are under Core, or, if they are not core
// commands, under Overview.
func grouped(list []string) (names []string, groups map[string][]string) {
	groups = map[string][]string{}
	for _, id := range list {
		name := "Overview"
		if parent, _, ok := strings.Cut(id, ":"); ok {
			name = strings.ToUpper(parent[:1]) + parent[1:]
		} else if row, ok := commands.CurrentRules().Row(id); ok && row.Core {
			name = "Core"
		}
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], id)
	}
	return names, groups
}

// usageOf returns the command line of a command id, with its required parts, in the words of
// docs/spec/000-command-permissions.md, "Checking Permissions": the id of the noun itself is <id>, and nothing is
// quoted.
func usageOf(root *cobra.Command, id string) string {
	line := strings.ReplaceAll(id, ":", " ")
	cmd, _, err := root.Find(strings.Split(id, ":"))
	if err != nil {
		return line
	}
	for _, p := range placeholders(cmd.Use) {
		switch {
		case p.optional:
		case p.written == "--":
			line += " --"
		case p.name == cmd.Parent().Name()+"Id":
			line += " <id>"
		default:
			line += " <" + strings.TrimSuffix(p.name, ">...") + ">"
		}
	}
	for told := range strings.SplitSeq(cmd.Annotations[toldFlags], ",") {
		if flag, required := strings.CutSuffix(told, "!"); required {
			line += " " + flagSyntax(cmd, flag)
		}
	}
	return line
}

// reasonLine is a line that explains the one above it, "" without a text.
func reasonLine(name, text string) string {
	if text == "" {
		return ""
	}
	return "  " + name + ": " + safetext.OneLine(text) + "\n"
}

// checkNeeds checks a command line that stands for no id of the permission table, such as `task move`: it is allowed
// if everything that it needs is. It returns unknown if there is no such command line.
func checkNeeds(ctx context.Context, a *Run, id string, unknown wire.CommandCheck) (wire.CommandCheck, error) {
	words := strings.Split(id, ":")
	cmd, rest, err := a.Root().Find(words)
	if err != nil || len(rest) > 0 || cmd.CommandPath() != "maestro "+strings.Join(words, " ") ||
		cmd.Annotations[neededIDs] == "" {
		return unknown, nil //nolint:nilerr // there is no such command line
	}
	needed := cmd.Annotations[neededIDs]
	var check wire.CommandCheck
	if only := cmd.Annotations[onlyFor]; only != "" && (only == onlySessions) != a.isSession() {
		check = unknown
		check.Command, check.Unknown, check.Why = id, false, "it is for "+only+" only"
		return check, nil
	}
	for one := range strings.SplitSeq(needed, ",") {
		if check, err = Ask(ctx, a, (*client.Client).CheckCommand, one); err != nil {
			return check, err
		}
		if !check.Allowed {
			break
		}
	}
	refused, why := check.Command, check.Why
	check.Command, check.Why = id, "it needs "+strings.ReplaceAll(needed, ",", ", ")
	switch {
	case check.Allowed:
	case refused == needed:
		check.Why += ": " + why
	default:
		check.Why += "; of these, " + refused + " is refused: " + why
	}
	return check, nil
}

// checkCommand says whether a command is allowed, in the words of
// docs/spec/000-command-permissions.md, "Checking Permissions".
func checkCommand(ctx context.Context, a *Run, id string) error {
	// A command line is as good as an id: "report complete" is report:complete.
	id = strings.Join(strings.Fields(strings.TrimPrefix(id, "maestro ")), ":")
	check, err := Ask(ctx, a, (*client.Client).CheckCommand, id)
	if err == nil && check.Unknown {
		check, err = checkNeeds(ctx, a, id, check)
	}
	if err != nil {
		return err
	}
	who := cmp.Or(check.Caller, check.Role)
	if check.Strategy != "" {
		who += " (" + check.Strategy + " strategy)"
	}
	said := "Command '" + id + "' is allowed for " + who
	switch {
	case check.Unknown && a.isSession() && commands.IsForOperators(id):
		said = "Command '" + id + "' is only for whoever runs the server; a session may not use it"
	case check.Unknown && commands.IsLine(id):
		said = "Command '" + id + "' has no permission of its own, and needs none"
	case check.Unknown:
		said = "There is no command '" + id + "'"
	case check.Planned:
		said = "Command '" + id + "' is not available in this version"
	case !check.Allowed:
		said = "Command '" + id + "' is NOT ALLOWED for " + who
	}
	const next = `Run "maestro commands" to see available commands.`
	why := check.Why
	if check.Unknown {
		why = "" // it only repeats that there is no such command
	}
	switch {
	case a.JSON:
		a.WriteJSON(check)
	case check.Allowed:
		a.Print("%s\n%s", said, reasonLine("why", check.Why))
	default:
		a.Print("%s\n", said)
		a.Print("%s%s\n%s\n", reasonLine("why", why), reasonLine("next", check.Next), next)
	}
	if check.Allowed {
		return nil
	}
	return &failure.Error{
		Code:    failure.NotAllowed,
		Message: said,
		Why:     check.Why,
		Next:    next,
		Shown:   true,
	}
}
