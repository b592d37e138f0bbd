// Writes what compose makes of a compose file as JSON, as `docker compose config --format json` does, by the loader inside it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	if err := show(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func show(files []string) error {
	options, err := cli.NewProjectOptions(files, cli.WithOsEnv, cli.WithConsistency(true))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	model, err := project.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(model)
	return err
}
