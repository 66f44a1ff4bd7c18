package offline

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"maestro/api/export"
	"maestro/bus"
	"maestro/internal/failure"
	"maestro/internal/safetext"
)

// mustBeExport refuses a file whose first byte is not that of an export. what names the command that reads only
// exports.
func mustBeExport(file string, in *bufio.Reader, what string) error {
	if _, err := in.Peek(1); errors.Is(err, io.EOF) { // the export of an empty log
		return nil
	}
	exported, err := isExport(file, in)
	if exported || err != nil {
		return err
	}
	if first, err := in.Peek(2); err == nil && bytes.Equal(first, []byte{0x1f, 0x8b}) { // gzip
		return &failure.Error{
			Status:  http.StatusUnprocessableEntity,
			Code:    failure.File,
			Message: file + " is a backup, or another archive",
			Why:     what + " reads exports only",
			Next: "restore it with `maestro restore " + safetext.Quoted(file) +
				" --home DIR`, and ask the server of that home",
		}
	}
	return notAnExport(file, errors.New("it does not begin like an export"))
}

func notAnExport(file string, err error) error {
	return &failure.Error{
		Status:  http.StatusUnprocessableEntity,
		Code:    failure.File,
		Err:     err,
		Message: "The file " + file + " is not an export",
		Why:     err.Error(),
		Next:    "name a file that `maestro audit export` wrote",
	}
}

// notWhole explains what is wrong with a backup or an export; other errors stay unchanged.
func notWhole(file string, err error) error {
	var backup *bus.BackupError
	var exported *export.DamageError
	f := &failure.Error{
		Status: http.StatusUnprocessableEntity,
		Code:   failure.File,
		Err:    err,
		Next:   "use another backup or export",
	}
	switch {
	case errors.As(err, &backup) && backup.Foreign:
		f.Message = fmt.Sprintf("The file %s is neither a backup nor an export", file)
		f.Next = "name a file that `maestro backup` or `maestro audit export` wrote"
		f.Why = "it begins neither like an archive nor like an export"
		if backup.Entry != "" {
			f.Why = fmt.Sprintf("it is an archive of something else: %s", backup.Err)
		}
		if errors.Is(backup.Err, io.EOF) {
			f.Why = "it is empty"
		}
	case errors.As(err, &backup) && errors.Is(backup.Err, bus.ErrNewerBackup):
		f.Message, f.Why = fmt.Sprintf("The backup %s cannot be read by this version", file), backup.Err.Error()
		f.Next = "use the version of maestro that made it"
	case errors.As(err, &backup) && errors.Is(backup.Err, bus.ErrRepacked):
		f.Message = fmt.Sprintf("The backup %s was unpacked and packed again", file)
		f.Why = fmt.Sprintf("%s; %s is not where it should be", backup.Err, backup.Entry)
		f.Next = "use the file as `maestro backup` wrote it"
	case errors.As(err, &backup):
		f.Message, f.Why = fmt.Sprintf("The backup %s is damaged", file), backup.Err.Error()
		if errors.Is(backup.Err, io.ErrUnexpectedEOF) {
			f.Why = "it is cut short"
		}
		if backup.Entry != "" {
			f.Why = backup.Entry + ": " + f.Why
		}
	case errors.As(err, &exported):
		f.Message, f.Why = fmt.Sprintf("The export %s cannot be used", file), exported.Why
		if exported.Part {
			f.Next = "export the whole log: `maestro audit export FILE` without --project"
		}
	default:
		return err
	}
	return f
}
