#!/usr/bin/env bash
#SBATCH --job-name=urdf_usd
#SBATCH --array=1-8
#SBATCH --cpus-per-task=4
#SBATCH --mem=20G
#SBATCH --time=04:00:00
#SBATCH --requeue
#
# Converts robots as a job array of Slurm, in which each task converts its share:
#
#     sbatch slurm.sh robots.csv --output-dir /shared/converted --formats usd
#
# Submit it again to continue after a time limit. A task that is requeued continues by itself. The task that ends last writes the report.
set -euo pipefail
: "${SLURM_ARRAY_TASK_ID:?submit this script with sbatch}"

# An array may start from any number, in any step; shards are numbered from 1.
number=$(((SLURM_ARRAY_TASK_ID - SLURM_ARRAY_TASK_MIN) / ${SLURM_ARRAY_TASK_STEP:-1} + 1))

exec urdf_usd batch "$@" --shard "$number/$SLURM_ARRAY_TASK_COUNT" --jobs "$SLURM_CPUS_PER_TASK"
