package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func addCommand() *cobra.Command {
	var input inputFlags
	var file holder
	c := &cobra.Command{
		Use:   "add FILE [file ...]",
		Short: "add lines to a filter",
		Long: `add adds all lines of its input to the filter FILE, of any type. The file is replaced
once all lines are in; before, and after an error, it is as it was. If another bloom
changes the file, add waits for its end. A filter that was made as a shard gets the lines of
its shard.`,
		Example: `  printf 'apple\n' | bloom build -n 1000 -o fruit.bloom && printf 'banana\n' | bloom add fruit.bloom`,
		Args:    need(1, -1, "the filter's FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := input.config(args[1:])
			if err != nil {
				return err
			}
			release, err := file.hold(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer release()
			f, err := load(args[0])
			if err != nil {
				return err
			}
			if f.compressed {
				return fmt.Errorf("%s %w", args[0], errCompressed)
			}
			warnKeys(c.Name(), args[0], f, input.key)
			cfg.Sum = sum(f)
			part := partOf(f)
			cfg.Take = part.take()
			keys{input.key, part}.join(f)
			if err := addLines(c.Context(), cfg, f.filter, 0); err != nil {
				return err
			}
			return f.SaveFile(file.path)
		},
	}
	file.add(c.Flags())
	input.add(c.Flags())
	return c
}
