package guard

import (
	"fmt"

	"maestro/engine"
	"maestro/service/wire"
)

// Warnings returns what an operator should know about a server's backups, the long texts of its log and the files of
// its home.
func Warnings(
	backups interface{ Problem() string }, texts interface{ Lost() []engine.LostText }, files *Files,
) []wire.Warning {
	var all []wire.Warning
	if problem := backups.Problem(); problem != "" {
		all = append(all, wire.Warning{
			Code:    "BACKUP",
			Message: "Automatic backups: " + problem,
			Next:    "make one with `maestro backup FILE`, on another disk",
		})
	}
	if lost := texts.Lost(); len(lost) > 0 {
		many := "1 long text"
		if len(lost) > 1 {
			many = fmt.Sprintf("%d long texts", len(lost))
		}
		all = append(all, wire.Warning{
			Code:    "TEXTS",
			Message: many + " that the log names cannot be read, the first: " + lost[0].String(),
			Next:    engine.FaultText.Next(),
		})
	}
	return append(all, files.Warnings()...)
}
