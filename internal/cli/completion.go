package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

const (
	// offered bounds the number of ids offered to the shell, offeredWithin the time for the server to name them.
	offered       = 100
	offeredWithin = 700 * time.Millisecond
)

// wish is the shell's request: candidates with a prefix, in a project or, with "", in all.
type wish struct{ project, begun string }

// offers are the functions that find candidates for an argument or a flag's value, by its placeholder in the singular.
var offers = map[string]func(ctx context.Context, c *client.Client, w wish) []candidate{
	"taskId":     offerTasks,
	"sessionId":  offerSessions,
	"projectId":  offerProjects,
	"project":    offerProjects,
	"questionId": offerQuestions,
	"templateId": offerTemplates,
	"webhookId":  offerWebhooks,
	"queue":      offerQueues,
	"token":      offerTokens,
	"loginId":    offerLogins,
	"actor": func(ctx context.Context, c *client.Client, w wish) []candidate {
		return append(offerTokens(ctx, c, w), offerSessions(ctx, c, w)...)
	},
	"id": func(ctx context.Context, c *client.Client, w wish) []candidate {
		word, _, _ := strings.Cut(w.begun, "_")
		switch word {
		case "sess":
			return offerSessions(ctx, c, w)
		case "proj":
			return offerProjects(ctx, c, w)
		case "input":
			return offerQuestions(ctx, c, w)
		}
		return offerTasks(ctx, c, w)
	},
	"label": offerLabels,
}

// otherPlaceholder gives, by command line, the kind of arguments and flags whose placeholder does not name it.
var otherPlaceholder = map[string]string{
	"audit can <target>":    "id",
	"audit replay <object>": "id",
	"audit diff <object>":   "id",

	"session exec --":           "file",
	"session exec <command>...": "file",

	"queue delete <name>":   "queue",
	"token revoke <name>":   "token",
	"task create --plan-id": "",
	"task update --plan-id": "",
	"task list --plan-id":   "",
}

// fileKinds are the placeholders of files and directories.
var fileKinds = []string{"dir", "file", "folder", "home", "path"}

// fileFlags are the flags without a placeholder whose value is a file or a directory.
var fileFlags = []string{"backup-dir", "dir", "home", "texts-from", "new-home", "with"}

func offerTasks(ctx context.Context, c *client.Client, w wish) []candidate {
	found, _ := c.FirstTasks(ctx, wire.TaskFilter{ProjectID: w.project, IDPrefix: w.begun}, offered)
	return candidates(found, func(t wire.Task) candidate { return candidate{id: t.ID, title: t.Title} })
}

func offerSessions(ctx context.Context, c *client.Client, w wish) []candidate {
	filter := wire.SessionFilter{ProjectID: w.project, IDPrefix: w.begun, Brief: "true"}
	found, _ := c.FirstSessions(ctx, filter, offered)
	return candidates(found, func(x wire.Session) candidate { return candidate{id: x.ID, title: x.Name} })
}

// offerProjects offers projects by id, and by the prefix of a name.
func offerProjects(ctx context.Context, c *client.Client, w wish) (found []candidate) {
	projects, _ := c.FirstProjects(ctx, wire.ProjectFilter{}, offered)
	for _, p := range projects {
		if found = append(found, ofProject(p)); w.begun != "" {
			found = append(found, candidate{id: p.Name, title: p.ID})
		}
	}
	return found
}

func offerQuestions(ctx context.Context, c *client.Client, w wish) []candidate {
	filter := wire.InputFilter{ProjectID: w.project, IDPrefix: w.begun, Status: "open"}
	found, _ := c.FirstInputs(ctx, filter, offered)
	return candidates(found, func(x wire.Input) candidate { return candidate{id: x.ID, title: x.Question} })
}

func offerTemplates(ctx context.Context, c *client.Client, _ wish) []candidate {
	found, _ := c.Templates(ctx)
	return candidates(found, func(t wire.Template) candidate { return candidate{id: t.ID, title: t.Name} })
}

func offerWebhooks(ctx context.Context, c *client.Client, _ wish) []candidate {
	found, _ := c.Webhooks(ctx)
	return candidates(found, func(x wire.Webhook) candidate { return candidate{id: x.ID, title: x.URL} })
}

func offerQueues(ctx context.Context, c *client.Client, w wish) []candidate {
	found, _ := c.Queues(ctx, wire.QueueFilter{ProjectID: w.project})
	return candidates(found, func(q wire.Queue) candidate { return candidate{id: q.Name} })
}

func offerTokens(ctx context.Context, c *client.Client, _ wish) (found []candidate) {
	tokens, _ := c.Tokens(ctx)
	for _, t := range tokens {
		if t.RevokedAt == nil {
			found = append(found, candidate{id: t.Name, title: string(t.Kind)})
		}
	}
	return found
}

func offerLogins(ctx context.Context, c *client.Client, _ wish) []candidate {
	found, _ := c.Logins(ctx)
	return candidates(found, func(l wire.Login) candidate { return candidate{id: l.ID, title: l.Token} })
}

func offerLabels(ctx context.Context, c *client.Client, w wish) (found []candidate) {
	tasks, _ := c.FirstTasks(ctx, wire.TaskFilter{ProjectID: w.project}, offered)
	for _, t := range tasks {
		for _, label := range t.Labels {
			if of := (candidate{id: label}); !slices.Contains(found, of) {
				found = append(found, of)
			}
		}
	}
	return found
}

// completeIDs makes the shell offer the ids that an argument may name, with their titles. It offers nothing, silently,
// when no server answers in time, or to a session.
func completeIDs(a *Run, root *cobra.Command) {
	for _, verb := range root.Commands() {
		completeIDs(a, verb)
	}
	places := placeholders(root.Use)
	if len(places) == 0 {
		return
	}
	root.ValidArgsFunction = func(
		cmd *cobra.Command, args []string, begun string,
	) ([]string, cobra.ShellCompDirective) {
		at := min(len(args), len(places)-1)
		if len(args) >= len(places) && !places[at].many {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		kind := places[at].name
		if other, ok := otherPlaceholder[placeOf(cmd, places[at].written)]; ok {
			kind = other
		}
		return a.offer(cmd, kind, begun, args)
	}
}

// completeFlags makes the shell offer values of flags. It is not needed to run a command line.
func completeFlags(a *Run, cmd *cobra.Command) {
	for _, verb := range cmd.Commands() {
		completeFlags(a, verb)
	}
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if _, done := cmd.GetFlagCompletionFunc(flag.Name); done || flag.Value.Type() == "bool" {
			return
		}
		kind, many := flagKind(cmd, flag)
		complete := func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			before := ""
			if at := strings.LastIndex(begun, ","); many && at >= 0 {
				before, begun = begun[:at+1], begun[at+1:]
			}
			found, directive := a.offer(cmd, kind, begun, strings.Split(before, ","))
			for i := range found {
				found[i] = before + found[i]
			}
			return found, directive
		}
		if err := cmd.RegisterFlagCompletionFunc(flag.Name, complete); err != nil {
			panic(err) // the flag exists, and has no completion yet
		}
	})
}

// flagKind returns the kind of object that a flag's value names, and whether it may name several.
func flagKind(cmd *cobra.Command, flag *pflag.Flag) (kind string, many bool) {
	if other, ok := otherPlaceholder[placeOf(cmd, "--"+flag.Name)]; ok {
		return other, false
	}
	if slices.Contains(fileFlags, flag.Name) {
		return "file", false
	}
	kind = strings.Trim(flag.Value.Type(), "<>")
	if one := strings.TrimSuffix(kind, "s"); one != kind && (offers[one] != nil || one == "commandId") {
		return one, true
	}
	return kind, false
}

// placeOf names an argument or a flag of a command.
func placeOf(cmd *cobra.Command, written string) string {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return path + " " + written
}

// offer returns the candidates with the typed prefix, each with its title after a tab, except those already on the
// line.
func (a *Run) offer(cmd *cobra.Command, kind, begun string, there []string) ([]string, cobra.ShellCompDirective) {
	var named []candidate
	switch find := offers[kind]; {
	case slices.Contains(fileKinds, kind):
		return nil, cobra.ShellCompDirectiveDefault
	case kind == "commandId":
		for _, row := range commands.CurrentRules().Rows() {
			if !row.Planned {
				named = append(named, candidate{id: row.ID})
			}
		}
	case find != nil && !a.isSession() && a.homeServer() != "":
		ctx, cancel := context.WithTimeout(cmd.Context(), offeredWithin)
		defer cancel()
		c, err := a.Connect(ctx)
		if err != nil {
			break
		}
		named = find(ctx, c, wish{project: a.projectToComplete(ctx, cmd), begun: begun})
	}
	var found []string
	for _, x := range named {
		if !strings.HasPrefix(x.id, begun) || slices.Contains(there, x.id) {
			continue
		}
		line := safetext.OneLine(x.id)
		if x.title != "" {
			line += "\t" + safetext.Clip(x.title, 60)
		}
		found = append(found, line)
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// projectToComplete returns the project that the line or the configuration names, "" for all.
func (a *Run) projectToComplete(ctx context.Context, cmd *cobra.Command) string {
	text := a.Getenv(wire.EnvProjectID)
	if flag := cmd.Flags().Lookup("project"); flag != nil && flag.Changed && takesOne(flagValue(flag)) {
		text = flag.Value.String()
	} else if c, err := readConfig(a.Getenv); text == "" && err == nil {
		text = c.Project
	}
	if text == "" {
		return ""
	}
	id, err := a.projectNamed(ctx, text)
	if err != nil {
		return ""
	}
	return id
}
