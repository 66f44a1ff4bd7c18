package doctor

import (
	"context"
	"fmt"
	"time"

	"maestro/bus"
	"maestro/internal/backups"
	"maestro/internal/disk"
	"maestro/internal/home"
)

// lookAtBackups looks for the automatic backups of the home.
func lookAtBackups(_ context.Context, x *examination) []Finding {
	if x.home == nil || !home.HasLog(x.dir) {
		return nil
	}
	key, err := x.home.BackupSigner()
	if err != nil {
		return nil // the check of the home says why
	}
	dir := backups.At(x.dir, x.backupDir, bus.SignerName(key))
	const next = "make one with `maestro backup FILE`; see /readyz and the server's log for why it made none, or " +
		"name the directory with `maestro doctor --backup-dir`"
	made, err := dir.List()
	if err != nil {
		return []Finding{backupMissing.found("The automatic backups cannot be listed: "+err.Error(),
			"they are needed if the home is damaged", next)}
	}
	if len(made) == 0 {
		info, err := disk.Stat(x.home.Store())
		if err == nil && x.Wall().Sub(createdAt(x, info.ModTime())) < backupAge {
			return nil // the first one is not overdue
		}
		return []Finding{backupMissing.found("There is no automatic backup in "+dir.Path(),
			"if the home is damaged, nothing fills the gaps", next)}
	}
	newest := made[0]
	seen, _ := bus.LoadHeadFile(x.home.Head())
	age := x.Wall().Sub(newest.Time)
	switch {
	case newest.Partial:
		return []Finding{backupPartial.found("The newest backup lacks long texts: "+newest.Path,
			"a home restored from it lacks them too",
			"run `maestro audit verify`, which names them and says what to do")}
	case age > backupAge && seen.Sequence > newest.Sequence:
		return []Finding{backupOld.found(
			fmt.Sprintf("The newest backup is %d hours old: %s", int(age.Hours()), newest.Path),
			fmt.Sprintf("the %d events after it are in no backup", seen.Sequence-newest.Sequence), next)}
	}
	return nil
}

// createdAt returns when the home got its key, which never changes; otherwise another time.
func createdAt(x *examination, otherwise time.Time) time.Time {
	if info, err := x.home.Root().Stat("server.key"); err == nil {
		return info.ModTime()
	}
	return otherwise
}
