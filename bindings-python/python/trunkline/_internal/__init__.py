"""The rooms of the package: `trunkline` exports everything that programs use."""
