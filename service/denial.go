package service

import (
	"strings"

	"maestro/engine"
	"maestro/service/wire"
)

// ListDenials gives at most limit recorded refusals behind a number, oldest first, and whether there are more; the
// newest if newest is set.
func (v View) ListDenials(
	in *wire.DenialFilter, behind uint64, limit int, newest bool,
) (found []engine.Denial, more bool, err error) {
	if err := v.Permit("audit:denials", in.Project); err != nil || v.Service.Denials == nil {
		return []engine.Denial{}, false, err
	}
	wanted := func(d *engine.Denial) bool {
		named := in.Actor == "" || in.Actor == d.Actor || strings.HasSuffix(d.Actor, "/"+in.Actor)
		return named && (in.Project == "" || in.Project == d.Project) && (in.Command == "" || in.Command == d.Command)
	}
	if newest {
		return v.Service.Denials.Newest(limit, wanted), false, nil
	}
	found, more = v.Service.Denials.Page(behind, limit, wanted)
	return found, more, nil
}
