package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"companyos/shared/agent/fixture"
	"companyos/shared/netlock"
)

// The subcommands of a supervisor's binary. Without one it is the supervisor.
const (
	SubcommandFixture    = "fixture"    // the fixture harness
	SubcommandEnter      = "enter"      // becomes the program that follows, with nothing to gain any more; for a fixture without a lock
	SubcommandTranscript = "transcript" // prints the newest file of a pattern below a folder
	SubcommandReady      = "ready"      // prepares the ground for a snapshot
)

// The environment of a supervisor.
const (
	EnvAPI     = "COMPANY_PUBLIC_URL"      // base URL of the sandbox's API
	EnvToken   = "COMPANY_LAUNCH_TOKEN"    // the launch token, in a container
	EnvTokenFD = "COMPANY_LAUNCH_TOKEN_FD" // the descriptor to read it from instead
	EnvDir     = "COMPANY_SANDBOX_DIR"     // where the launch keeps its files; /sandbox
	EnvUID     = "COMPANY_AGENT_UID"       // the agent's user, where it is not the supervisor's own
	EnvGID     = "COMPANY_AGENT_GID"
	EnvSave    = "COMPANY_SAVE_EVERY"   // between two saved patches, such as 30s
	EnvSelf    = "COMPANY_SANDBOX_SELF" // JSON list: the command that re-executes this program
	EnvLaunch  = "COMPANY_LAUNCH"       // marks every process of a launch, the agent's too: "<run>-<launch>"
)

// ExitFile is where a supervisor leaves its Exit below its directory.
const ExitFile = "exit.json"

// ExitRecord is the content of ExitFile.
type ExitRecord struct {
	Reason Reason `json:"reason"`
	Kind   string `json:"kind,omitempty"`
	Code   int    `json:"code"`
}

// Reenter is the first statement of every program that starts supervisors as processes of its own, and of TestMain in its
// tests: started again as one, or as something under the lock, it does not return.
func Reenter() {
	netlock.Main()
	if len(os.Args) > 1 && os.Args[1] == "sandbox" {
		os.Exit(Main(os.Args[2:]))
	}
}

// Main is the supervisor's program, whose main function calls netlock.Main before it. It returns the exit code.
func Main(args []string) int {
	if len(args) == 0 {
		return supervise()
	}
	switch args[0] {
	case SubcommandFixture:
		return fixture.Program(os.Stdin, os.Stdout)
	case SubcommandEnter:
		err := enter(args[1:])
		fmt.Fprintln(os.Stderr, "sandbox enter:", err)
		return 127
	case SubcommandTranscript:
		if len(args) != 3 {
			return 2
		}
		return printNewest(args[1], args[2], os.Stdout)
	case SubcommandReady:
		if len(args) < 3 {
			return 2
		}
		if err := ready(args[1], args[2], args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, "sandbox ready:", err)
			return 1
		}
		return 0
	default:
		fmt.Fprintf(os.Stderr, "sandbox: unknown subcommand %q\n", args[0])
		return 2
	}
}

// enter replaces this process by a program that cannot gain a privilege any more. It returns only to fail.
func enter(args []string) error {
	if len(args) == 0 {
		return errors.New("no program is named")
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	// What confine does holds for one thread, and for the program that replaces the process from it.
	runtime.LockOSThread()
	if err := confine(); err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ()) //nolint:gosec // to run this program is the command
}

// supervise runs one launch. The process is sealed before it reads its token.
func supervise() int {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	sealed := seal()
	syscall.Umask(0o022)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	exit := func() Exit {
		if sealed != nil {
			return Exit{Reason: ReasonInternal, Err: sealed}
		}
		config, err := configFromEnvironment(log)
		if err != nil {
			return Exit{Reason: ReasonInternal, Err: err}
		}
		// What it starts inherits the limits; its own needs are far below them.
		if err := restrain(config.Agent == nil); err != nil {
			return Exit{Reason: ReasonInternal, Err: err}
		}
		token, err := launchToken()
		if err != nil {
			return Exit{Reason: ReasonNoToken, Err: err}
		}
		config.Token = token
		return Run(ctx, config)
	}()
	log.Info("the supervisor ends", "launch", os.Getenv(EnvLaunch), "exit", exit.String(), "code", exit.Code())
	if err := writeExit(exit); err != nil {
		log.Error("the exit could not be recorded", "error", err)
	}
	return exit.Code()
}

func configFromEnvironment(log *slog.Logger) (Config, error) {
	c := Config{API: os.Getenv(EnvAPI), Dir: os.Getenv(EnvDir), Mark: os.Getenv(EnvLaunch), Log: log}
	if c.API == "" {
		return c, fmt.Errorf("%s is not set", EnvAPI)
	}
	if c.Dir == "" {
		c.Dir = "/sandbox"
	}
	if self := os.Getenv(EnvSelf); self != "" {
		if err := json.Unmarshal([]byte(self), &c.Self); err != nil {
			return c, fmt.Errorf("%s: %w", EnvSelf, err)
		}
	}
	if every := os.Getenv(EnvSave); every != "" {
		var err error
		if c.SaveEvery, err = time.ParseDuration(every); err != nil || c.SaveEvery <= 0 {
			return c, fmt.Errorf("%s is %q and no length of time", EnvSave, every)
		}
	}
	if uid := os.Getenv(EnvUID); uid != "" {
		user := User{}
		var errUID, errGID error
		user.UID, errUID = strconv.Atoi(uid)
		user.GID, errGID = strconv.Atoi(os.Getenv(EnvGID))
		if err := errors.Join(errUID, errGID); err != nil || user.UID <= 0 || user.GID <= 0 {
			return c, fmt.Errorf("%s and %s are positive numbers: %w", EnvUID, EnvGID, err)
		}
		c.Agent = &user
	}
	return c, nil
}

// launchToken reads the token and forgets where it came from. In a container it comes by the environment, which stays
// readable in /proc to the supervisor's user alone: the agent has another.
func launchToken() (string, error) {
	token := os.Getenv(EnvToken)
	if err := os.Unsetenv(EnvToken); err != nil {
		return "", err
	}
	if fd := os.Getenv(EnvTokenFD); fd != "" {
		n, err := strconv.Atoi(fd)
		if err != nil || n < 3 {
			return "", fmt.Errorf("%s is %q", EnvTokenFD, fd)
		}
		pipe := os.NewFile(uintptr(n), "token")
		text, err := io.ReadAll(io.LimitReader(pipe, 4<<10))
		if err := errors.Join(err, pipe.Close()); err != nil {
			return "", err
		}
		token = string(text)
	}
	if token = strings.TrimSpace(token); token == "" {
		return "", errors.New("no launch token was given")
	}
	return token, nil
}

func writeExit(exit Exit) error {
	dir := os.Getenv(EnvDir)
	if dir == "" {
		return nil // in a container the exit code is seen
	}
	//nolint:gosec // the launcher names the directory
	if err := os.MkdirAll(dir, 0o700); err != nil { // nothing was claimed
		return err
	}
	text, err := json.Marshal(ExitRecord{Reason: exit.Reason, Kind: string(exit.Kind), Code: exit.Code()})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ExitFile), text, 0o600) //nolint:gosec // as above
}
