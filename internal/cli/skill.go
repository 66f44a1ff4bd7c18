package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

func newSkill(a *Run) *cobra.Command {
	return a.group("skill", "Instructions that agents can be given, in folders of the home",
		newSkillList(a), newSkillAdd(a), newSkillRemove(a))
}

func newSkillList(a *Run) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the skills of the server's home",
		Args:  Takes,
		Long: `List the skills that sessions can be spawned with. A skill is a folder of the
server's home, skills/<id>, with a SKILL.md: a front matter in YAML (name,
description, roles) and instructions.`,
		RunE: Running(func(ctx context.Context, _ []string) error {
			skills, err := Look(ctx, a, (*client.Client).Skills)
			if err != nil {
				return err
			}
			List(a, skills, "There are no skills. Add one with `maestro skill add <folder>`",
				[]string{"ID", "NAME", "ABOUT"}, func(s wire.Skill) []string {
					return []string{s.ID, safetext.Clip(s.Name, 60), safetext.Clip(s.Description, 80)}
				})
			return nil
		}),
	}
	a.ListFlags(cmd)
	a.WatchFlag(cmd)
	return Tell(cmd, "template:list")
}

// skillAdd is `maestro skill add`.
type skillAdd struct {
	*Run
	id      string
	replace bool
}

func newSkillAdd(a *Run) *cobra.Command {
	c := &skillAdd{Run: a}
	cmd := &cobra.Command{
		Use:   "add <folder>",
		Short: "Copy a folder with a SKILL.md into the home's skills",
		Args:  Takes,
		Long: `Copy a folder into the home, where sessions find it as a skill: with
"maestro session spawn --skills <id>", its agent gets the folder. The folder has
a SKILL.md, and may have other files; links are not copied.`,
		RunE: Running(c.run),
	}
	cmd.Flags().StringVar(&c.id, "id", "", "the skill's id; the folder's name if absent")
	cmd.Flags().BoolVar(&c.replace, "replace", false, "replace a skill with the same id")
	ValueName(cmd, "id", "<skillId>")
	annotated(cmd, onlyFor, onlyUsers)
	return Untold(cmd)
}

func (c *skillAdd) run(_ context.Context, args []string) error {
	folder, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	if c.id == "" {
		c.id = filepath.Base(folder)
	}
	path, err := home.Path(c.Getenv)
	if err != nil {
		return err
	}
	h, err := home.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }()
	skill, err := h.AddSkill(c.id, folder, c.replace)
	if err != nil {
		return skillFailure(err)
	}
	c.Result(struct {
		Skill wire.Skill `json:"skill"`
	}{skill}, func() {
		c.Print("Added skill %s: %s\n", skill.ID, strings.TrimSpace(skill.Name))
	})
	return nil
}

// skillFailure explains why a skill was not added or removed.
func skillFailure(err error) error {
	var bad *home.SkillError
	if !errors.As(err, &bad) {
		return err
	}
	f := failure.Usage("%s", bad.Message).WithNext("%s", bad.Next)
	switch {
	case bad.Exists:
		f.Code = failure.Conflict
	case bad.Missing:
		f.Code = failure.NotFound
	}
	return f
}

func newSkillRemove(a *Run) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove <skillId>",
		Short: "Remove a skill from the home",
		Args:  Takes,
		Long: `Remove a skill from the home, with its folder there. An agent that runs keeps the
copy that it has; a run that begins later and names the skill asks what to do.`,
		RunE: Running(func(_ context.Context, args []string) error {
			h, err := a.existingHome()
			if err != nil {
				return err
			}
			defer func() { _ = h.Close() }()
			if err := h.RemoveSkill(args[0]); err != nil {
				return skillFailure(err)
			}
			a.Result(struct {
				Removed string `json:"removed"`
			}{args[0]}, func() { a.Print("Removed skill %s\n", args[0]) })
			return nil
		}),
	}
	annotated(cmd, onlyFor, onlyUsers)
	return Untold(cmd)
}
