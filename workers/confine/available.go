package confine

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
)

// Support is whether this machine offers a layer.
type Support struct {
	Layer Layer
	// Missing says why the machine does not offer it; nil if it does.
	Missing error
}

// Available returns the layers that this machine offers to this user. See Probe.
func Available(ctx context.Context, self []string) (layers []Layer) {
	for _, support := range Probe(ctx, self) {
		if support.Missing == nil {
			layers = append(layers, support.Layer)
		}
	}
	return layers
}

// Probe tries each layer: it applies it in a child that self starts, as Start does, and that runs no command. It takes
// as long as starting a few programs; callers keep the result. On a system without layers, it returns nothing.
func Probe(ctx context.Context, self []string) (tried []Support) {
	candidates := candidates()
	for _, c := range candidates {
		tried = append(tried, Support{Layer: c.layer, Missing: c.missing})
	}
	var all []Layer
	for _, s := range tried {
		if s.Missing == nil {
			all = append(all, s.Layer)
		}
	}
	if len(all) == 0 || try(ctx, self, all) == nil {
		return tried // as on most machines
	}
	for i, c := range candidates {
		if c.missing == nil {
			tried[i].Missing = c.explain(try(ctx, self, append(c.with, c.layer)))
		}
	}
	return tried
}

// candidate is a layer that may work, with those that it needs.
type candidate struct {
	layer   Layer
	with    []Layer
	missing error
	// advice says what makes the layer available, if it fails.
	advice string
}

// explain adds the advice to an error.
func (c candidate) explain(err error) error {
	if err == nil || c.advice == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, c.advice)
}

// try applies layers in a child.
func try(ctx context.Context, self []string, layers []Layer) error {
	r := request{Layers: layers, Try: true, Policy: Policy{Home: "/nonexistent"}}
	process, err := start(ctx, self, r, &exec.Cmd{})
	if err != nil {
		return err
	}
	err = process.Wait()
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		return errors.New("agent-exec ended with " + err.Error())
	}
	return err
}
